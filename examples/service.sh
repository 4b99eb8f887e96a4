#!/bin/sh
# Spend a budget with curl: any language that speaks HTTP and JSON can do the same.
#
#     budgetbandits serve sqlite:///ads.db      # prints a token, once
#     BUDGETBANDITS_TOKEN=bb_... sh examples/service.sh
#
# Amounts are text, never floats. A request that was not answered is sent again as it was: an ask is known by its key,
# a tell by its pull, so nothing happens twice.
set -eu
service=${BUDGETBANDITS_URL:-http://127.0.0.1:8000}
name=curl-$(date +%s)
campaign=$service/v1/campaigns/$name

# The token comes by standard input: arguments of a program are there for all to see.
call() { # METHOD URL [BODY]
    printf 'Authorization: Bearer %s\n' "${BUDGETBANDITS_TOKEN:-}" |
        curl --silent --show-error --fail-with-body --retry 5 --retry-all-errors --max-time 60 \
            --header @- --header 'Content-Type: application/json' --request "$1" "$2" ${3:+--data "$3"}
}
field() { # NAME: the first number or text of that name in the JSON that comes in
    sed -n "s/^[^\"]*.*\"$1\": *\"\{0,1\}\([^\",}]*\).*/\1/p" | head -n 1
}

call POST "$service/v1/campaigns" '{
    "name": "'"$name"'", "costs": {"small": "0.10", "large": "0.25"}, "budget": "2.00", "reward_range": [0, 1],
    "lease": "10 minutes", "seed": 7
}' >/dev/null

number=1
while :; do
    answer=$(call POST "$campaign/ask" '{"key": "'"$name/$number"'", "wait": "20 seconds"}') || {
        echo "$answer" >&2
        exit 1
    }
    pull=$(echo "$answer" | field id)
    if [ -n "$pull" ]; then
        # Here you would take the action, and find out what it paid.
        call POST "$campaign/tell" '{"pull": '"$pull"', "reward": 0.5}' >/dev/null
        number=$((number + 1))
    elif [ "$(echo "$answer" | field is_final)" != false ]; then
        break # waiting brings no pull
    fi
done

echo "$((number - 1)) pulls, and this became of the budget:"
call GET "$campaign/money"
echo
