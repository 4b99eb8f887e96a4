"""Derive the tables of the list `real` from published data: ``python -m benchmarks.real_data FOLDER``.

The tables are committed in `src/budgetbandits/studies/leaderboard/real`, with sources and licences in LICENSES.txt
beside them. This program documents how they were made, and makes them again. It downloads nothing. Four sources come
with packages, which are not among this project's requirements:

    pip install paretobandit causaldata Lifetimes scikit-learn pandas pyyaml

The others are files, which have to be in FOLDER:

- `obd/{random,bts}/{men,women}/{men,women}.csv`: the sample of the Open Bandit Dataset in the package `obp`, which
  needs Python 3.9 or older; its sources have them in `obp/dataset/obd` (github.com/st-tech/zr-obp, 8cbd5fa)
- `bank-full.csv`: archive.ics.uci.edu/dataset/222
- `online_shoppers_intention.csv`: archive.ics.uci.edu/dataset/468
- `polyglot_leaderboard.yml`: `aider/website/_data` of github.com/Aider-AI/aider, 5dc9490
- `results-imagenet.csv`, `benchmark-infer-amp-nchw-pt240-cu124-rtx3090.csv`: `results` of
  github.com/huggingface/pytorch-image-models, aa4b585
- `upworthy-archive-exploratory-packages-03.12.2020.csv`: osf.io/jd64p
"""

import argparse
import csv
import importlib
import importlib.util
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

pd: Any = importlib.import_module("pandas")  # whose types would have to be asserted at every step

PACKAGE_FOLDER: Final = Path(__file__).parents[1] / "src" / "budgetbandits" / "studies" / "leaderboard" / "real"

Arms = Mapping[str, tuple[float, Counter[float]]]
"""Cost and outcomes of each arm: how often each reward was observed."""


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.real_data", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("folder", type=Path, help="with the files that come with no package")
    parser.add_argument("--out", type=Path, default=PACKAGE_FOLDER, help="(default: where they are committed)")
    options = parser.parse_args()
    for name, derive in TABLES.items():
        write(options.out / f"{name}.csv", derive(options.folder))


def write(path: Path, arms: Arms) -> None:
    """Write one line for each arm and reward: arm, cost, reward, count."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["arm", "cost", "reward", "count"])
        for name, (cost, outcomes) in arms.items():
            for reward, count in sorted(outcomes.items()):
                if count:
                    writer.writerow([name, f"{cost:.6g}", f"{reward:.6g}", count])


# Development


def language_models(_: Path) -> Arms:
    """Return the three models of ParetoBandit: answers by quality, to 0.01; cost in dollars per 1,000 answers."""
    path = folder_of("pareto_bandit") / "data" / "examples" / "test_holdout.jsonl"
    prompts = [json.loads(line)["arms"] for line in path.read_text(encoding="utf-8").splitlines()]
    return {
        model.partition("/")[2]: (
            rounded(1000 * np.mean([arms[model]["cost"] for arms in prompts]), 4),
            Counter(round(arms[model]["reward"], 2) for arms in prompts),
        )
        for model in prompts[0]
    }


def fashion_items(campaign: str) -> Callable[[Path], Arms]:
    """Return the items of a campaign of the Open Bandit Dataset, as both of its policies showed them: clicks."""

    def derive(folder: Path) -> Arms:
        logs = [pd.read_csv(folder / "obd" / policy / campaign / f"{campaign}.csv") for policy in ("random", "bts")]
        shown = pd.concat(logs).groupby("item_id")["click"]
        return {f"item {item}": (1.0, coins(int(clicks.sum()), len(clicks))) for item, clicks in shown}

    return derive


def incentives(_: Path) -> Arms:
    """Return the incentives of Thornton (2008): who collected a test result; half a dollar and the incentive."""
    people = pd.read_stata(folder_of("causaldata") / "thornton_hiv" / "thornton_hiv.dta").dropna(subset=["got", "tinc"])
    edges = [-0.01, 0.01, 0.25, 0.5, 0.8, 1.0, 1.3, 1.6, 1.95, 2.3, 3.0]
    arms = {}
    for place, (_, group) in enumerate(people.groupby(pd.cut(people["tinc"], edges), observed=True)):
        dollars = float(group["tinc"].mean())
        arms[f"{place}: {dollars:.2f} dollars"] = (
            rounded(0.5 + dollars, 3),
            coins(int(group["got"].sum()), len(group)),
        )
    return arms


def calls(*columns: str) -> Callable[[Path], Arms]:
    """Return the segments of clients of Bank Marketing: who subscribed; the mean minutes of a call."""

    def derive(folder: Path) -> Arms:
        clients = pd.read_csv(folder / "bank-full.csv", sep=None, engine="python")
        return {
            " ".join(map(str, segment)): (
                rounded(float(group["duration"].mean()) / 60, 3),
                coins(int((group["y"] == "yes").sum()), len(group)),
            )
            for segment, group in clients.groupby(list(columns))
            if len(group) >= 100
        }

    return derive


def inspections(_: Path) -> Arms:
    """Return the restaurants of Anchorage inspected 60 times or more: points lost of 100; an inspection costs 1."""
    seen = pd.read_csv(folder_of("causaldata") / "restaurant_inspections" / "restaurant_data.csv")
    groups = [group for _, group in seen.groupby("business_name")["inspection_score"] if len(group) >= 60]
    return {
        f"restaurant {place}": (1.0, Counter(100.0 - float(score) for score in group))
        for place, group in enumerate(groups, start=1)
    }


def digits(_: Path) -> Arms:
    """Return classifiers of scikit-learn's digits that see some pixels: right answers; 8 and 1 for each pixel.

    The pixels that vary most come first. Answers are those of a tenfold cross-validation, in the order of the data.
    """
    datasets, selection = (
        importlib.import_module("sklearn.datasets"),
        importlib.import_module("sklearn.model_selection"),
    )
    images, labels = datasets.load_digits(return_X_y=True)
    order = np.argsort(-images.var(axis=0), kind="stable")
    classifiers: dict[str, Any] = {
        "neighbours": importlib.import_module("sklearn.neighbors").KNeighborsClassifier(n_neighbors=3),
        "naive Bayes": importlib.import_module("sklearn.naive_bayes").GaussianNB(var_smoothing=1e-3),
        "tree": importlib.import_module("sklearn.tree").DecisionTreeClassifier(random_state=0),
    }
    folds = selection.KFold(10)
    return {
        f"{name}, {pixels} pixels": (
            8.0 + pixels,
            coins(
                int(
                    (
                        selection.cross_val_predict(classifier, images[:, order[:pixels]], labels, cv=folds) == labels
                    ).sum()
                ),
                len(labels),
            ),
        )
        for pixels in (1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64)
        for name, classifier in classifiers.items()
    }


# Final


def coding_models(folder: Path) -> Arms:
    """Return the models of aider's polyglot benchmark: exercises solved in two tries; dollars per 100 exercises."""
    text = (folder / "polyglot_leaderboard.yml").read_text(encoding="utf-8")
    entries = importlib.import_module("yaml").safe_load(text)
    return {
        f"model {place}": (
            rounded(100 * entry["total_cost"] / entry["test_cases"], 4),
            coins(round(entry["pass_rate_2"] / 100 * entry["test_cases"]), entry["test_cases"]),
        )
        for place, entry in enumerate(entries, start=1)
        if entry.get("total_cost", 0) > 0
    }


def image_models(folder: Path) -> Arms:
    """Return every fourth model of timm by speed: ImageNet images classified right; milliseconds for 1,000 images."""
    speeds = pd.read_csv(folder / "benchmark-infer-amp-nchw-pt240-cu124-rtx3090.csv")
    quality = pd.read_csv(folder / "results-imagenet.csv")
    quality["model"] = quality["model"].str.partition(".")[0]  # without the weights' name; the best weights come first
    quality = quality.drop_duplicates(["model", "img_size"])
    both = quality.merge(speeds, left_on=["model", "img_size"], right_on=["model", "infer_img_size"])
    both = both[~both["model"].str.startswith("test_")].sort_values("infer_samples_per_sec", ascending=False)
    return {
        f"{row.model} {row.img_size}": (
            rounded(1e6 / row.infer_samples_per_sec, 4),
            coins(round(500 * row.top1), 50_000),
        )
        for row in both.iloc[::4].itertuples()
    }


def headlines(*, most_packages: bool) -> Callable[[Path], Arms]:
    """Return the packages of one of Upworthy's tests: clicks; a view costs 1.

    Of the exploratory tests outside the weeks whose randomization is in doubt: the one with the most packages, or of
    those with eight or more the one with the most views.
    """

    def derive(folder: Path) -> Arms:
        rows = pd.read_csv(folder / "upworthy-archive-exploratory-packages-03.12.2020.csv", low_memory=False)
        weeks = rows["test_week"].astype(int)
        tests = [group for _, group in rows[(weeks < 201325) | (weeks > 201402)].groupby("clickability_test_id")]
        if most_packages:
            chosen = max(tests, key=lambda test: (len(test), test["impressions"].sum()))
        else:
            chosen = max((test for test in tests if len(test) >= 8), key=lambda test: test["impressions"].sum())
        packages = zip(chosen["clicks"], chosen["impressions"], strict=True)
        return {
            f"package {place}": (1.0, coins(int(clicks), int(views)))
            for place, (clicks, views) in enumerate(packages, start=1)
        }

    return derive


def shop_visits(*, buys: bool) -> Callable[[Path], Arms]:
    """Return the sources of an online shop's visits: who bought, at 1 a visit; or page values, at the pages served."""

    def derive(folder: Path) -> Arms:
        visits = pd.read_csv(folder / "online_shoppers_intention.csv")
        visits["pages"] = visits[["Administrative", "Informational", "ProductRelated"]].sum(axis=1)
        return {
            f"source {source}": (
                (1.0, coins(int(group["Revenue"].sum()), len(group)))
                if buys
                else (
                    rounded(float(group["pages"].mean()), 3),
                    Counter(rounded(float(value), 2) for value in group["PageValues"]),
                )
            )
            for source, group in visits.groupby("TrafficType")
            if len(group) >= 30
        }

    return derive


def mailings(_: Path) -> Arms:
    """Return segments of CDNOW's customers: dollars spent from October 1997 to June 1998; a letter costs 1.

    A segment is how often a customer had bought until then, and how long ago last.
    """
    path = folder_of("lifetimes") / "datasets" / "CDNOW_master.txt"
    orders = pd.read_csv(path, sep=r"\s+", dtype={"date": str})
    before, after = orders[orders["date"] < "19971001"], orders[orders["date"] >= "19971001"]
    customers = before.groupby("customer_id")["date"].agg(["size", "max"])
    spent = after.groupby("customer_id")["dollar_value"].sum().reindex(customers.index, fill_value=0.0)
    often = pd.cut(customers["size"], [0, 1, 2, 3, 5, 1000], labels=["1 order", "2", "3", "4 or 5", "6 or more"])
    last = pd.cut(
        customers["max"].str[4:6].astype(int),
        [0, 1, 2, 3, 6, 9],
        labels=["January", "February", "March", "June", "September"],
    )
    return {
        f"{orders_before}, last by {month}": (1.0, Counter(rounded(float(dollars), 2) for dollars in group))
        for (orders_before, month), group in spent.groupby([often, last], observed=True)
        if len(group) >= 30
    }


TABLES: Final[Mapping[str, Callable[[Path], Arms]]] = {
    "language_models": language_models,
    "fashion_men": fashion_items("men"),
    "fashion_women": fashion_items("women"),
    "incentives": incentives,
    "calls_by_job": calls("job"),
    "calls_by_month": calls("month", "contact"),
    "inspections": inspections,
    "digits": digits,
    "coding_models": coding_models,
    "image_models": image_models,
    "headlines_14": headlines(most_packages=True),
    "headlines_9": headlines(most_packages=False),
    "shop_orders": shop_visits(buys=True),
    "shop_values": shop_visits(buys=False),
    "mailings": mailings,
}


def coins(successes: int, total: int) -> Counter[float]:
    return Counter({0.0: total - successes, 1.0: successes})


def rounded(value: float, figures: int) -> float:
    """Return a value to so many significant figures.

    >>> rounded(1234.5, 2)
    1200.0
    """
    return 0.0 if value == 0 else round(value, figures - 1 - math.floor(math.log10(abs(value))))


def folder_of(package: str) -> Path:
    """Return the folder of an installed package, without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise SystemExit(f"benchmarks.real_data needs the package {package}")
    return Path(spec.origin).parent


if __name__ == "__main__":
    main()
