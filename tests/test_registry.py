"""What is registered: every public thing, with all that there is to say about it, and mistakes in registering."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import budgetbandits as bb
from budgetbandits.core.registry import Registry, definition_of
from budgetbandits.errors import InvalidInput
from budgetbandits.studies.listing import listing, with_tables

REGISTRIES: list[Registry[Any]] = [
    bb.policies.POLICIES,
    bb.indices.INDICES,
    bb.oracles.ORACLES,
    bb.memories.MEMORIES,
    bb.laws.LAWS,
    bb.families.FAMILIES,
]
PAGE = Path(__file__).parents[1].joinpath("docs", "policies.md").read_text(encoding="utf-8")
REFERENCES = PAGE.partition("## Sources")[2]


def maker(name: str, module: str = "mine") -> Callable[..., int]:
    """Return a function of that name, as if it were defined in that module."""

    def make(number: int = 3) -> int:
        """Make a number."""
        return number

    make.__name__ = make.__qualname__ = name
    make.__module__ = module
    return make


# --- Registering --------------------------------------------------------------------------------------------


def test_a_definition_stays_what_it_is() -> None:
    numbers: Registry[int] = Registry("number")
    three = maker("three")
    assert numbers.register()(three) is three
    assert numbers["three"].make is three
    assert (numbers["three"].example(), numbers["three"].summary) == (3, "Make a number.")
    assert list(numbers) == ["three"]


def test_a_name_of_ones_choice() -> None:
    numbers: Registry[int] = Registry("number")
    numbers.register("drei")(maker("three"))
    assert list(numbers) == ["drei"]


def test_two_definitions_of_a_name_are_an_error_and_the_first_stays() -> None:
    numbers: Registry[int] = Registry("number")
    first = maker("three", "mine")
    numbers.register()(first)
    with pytest.raises(InvalidInput) as caught:
        numbers.register()(maker("three", "yours"))
    assert str(caught.value) == (
        "number 'three' is defined twice, by mine.three and by yours.three: register one of them under another name"
    )
    assert numbers["three"].make is first


def test_the_same_definition_again_takes_the_place_of_the_first() -> None:
    numbers: Registry[int] = Registry("number")
    numbers.register(source="Somebody 2026")(maker("three"))
    again = maker("three")
    numbers.register()(again)
    assert numbers["three"].make is again
    assert numbers["three"].origin == "own"


def test_a_parameter_without_a_default_needs_a_usual_value() -> None:
    numbers: Registry[int] = Registry("number")

    def power(base: int, exponent: int = 2) -> int:
        return int(base**exponent)

    with pytest.raises(InvalidInput) as caught:
        numbers.register()(power)
    assert str(caught.value) == (
        "number 'power' has a parameter 'base' without a default: register a usual value for it, "
        "as in usual={'base': ...}"
    )
    with pytest.raises(InvalidInput) as caught:
        numbers.register(usual={"base": 3, "bas": 3})(power)
    assert str(caught.value) == (
        "number 'power' has a usual value for 'bas', which is no parameter of it: its parameters are base, exponent"
    )
    assert len(numbers) == 0
    numbers.register(usual={"base": 3})(power)
    assert numbers["power"].example() == 9


def test_a_class_that_leaves_out_what_it_has_to_define_is_refused_when_it_is_registered() -> None:
    class Meaningless(bb.laws.SteadyLaw):
        @property
        def support(self) -> tuple[float, float]:
            return 0.0, 1.0

    with pytest.raises(InvalidInput) as caught:
        bb.laws.register("meaningless")(Meaningless)
    assert str(caught.value) == (
        "law 'meaningless' does not say its 'quantile': define quantile, true_mean in the class"
    )
    assert "meaningless" not in bb.laws.LAWS


def test_what_is_left_out_is_as_the_class_that_decides_says() -> None:
    numbers: Registry[int] = Registry("number")

    class Idea:
        pass

    numbers.register(source="Somebody 2026", proof="it counts", random_costs=True)(Idea)
    numbers.register(by=Idea)(maker("three"))
    numbers.register(by=Idea, source="Another 2027", proof="it counts further")(maker("four"))
    rows = {row.name: (row.origin, row.source, row.proof, row.random_costs) for row in numbers.catalogue()}
    assert rows["three"] == ("published", "Somebody 2026", "it counts", True)
    assert rows["four"] == ("published", "Another 2027", "it counts further", True)


def test_of_a_class_that_is_not_registered_the_first_that_it_decides_for_speaks() -> None:
    numbers: Registry[int] = Registry("number")

    class Idea:
        pass

    assert definition_of(Idea) is None
    numbers.register(by=Idea, source="Somebody 2026")(maker("three"))
    numbers.register(by=Idea)(maker("four"))
    assert definition_of(Idea) is numbers["three"]
    assert numbers["four"].source == "Somebody 2026"


# --- What the package registers -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "base", "registry"),
    [
        (bb.indices, bb.indices.Index, bb.indices.INDICES),
        (bb.oracles, bb.oracles.Oracle, bb.oracles.ORACLES),
        (bb.memories, bb.memories.Memory, bb.memories.MEMORIES),
        (bb.laws, bb.laws.SteadyLaw, bb.laws.LAWS),
        (bb.laws, bb.laws.ChangingLaw, bb.laws.LAWS),
    ],
)
def test_every_public_part_is_registered(module: Any, base: type, registry: Registry[Any]) -> None:
    public = {value for name, value in vars(module).items() if inspect.isclass(value) and not name.startswith("_")}
    bases = {
        *(bb.indices.Index, bb.indices.ScalarIndex, bb.indices.DensityIndex, bb.indices.GridIndex),
        *(bb.indices.LinearIndex, bb.indices.PosteriorIndex),
        *(bb.oracles.Oracle, bb.oracles.BoundedOracle, bb.memories.Memory, bb.memories.Everything),
        *(bb.laws.SteadyLaw, bb.laws.ChangingLaw),
    }
    classes = {value for value in public if issubclass(value, base)}
    registered = {definition.make for definition in registry.values()}
    assert classes - bases == {made for made in registered if inspect.isclass(made) and issubclass(made, base)}


def test_every_public_family_is_registered() -> None:
    public = {value for value in vars(bb.families).values() if inspect.isclass(value) and hasattr(value, "problem")}
    registered = {definition.make for definition in bb.families.FAMILIES.values()}
    assert {family for family in public if not family.__name__.startswith("_")} - registered == {
        bb.families.Family,
        bb.families.Shuffled,  # of a problem, which no list can name: one says `shuffled = true` instead
    }


def test_every_function_that_makes_a_policy_is_registered() -> None:
    functions = {
        value
        for value in vars(bb.policies).values()
        if inspect.isfunction(value) and value.__module__ == "budgetbandits.policies.named"
    }
    registered = {definition.make for definition in bb.policies.POLICIES.values()}
    assert len(functions) > 30
    assert registered - functions == {bb.policies.POLICIES["index_policy"].make}
    assert functions <= registered


def test_what_a_policy_shows_of_its_room_is_no_accident() -> None:
    """Stars bring what modules list, and of `named` every function."""
    strangers = {"math", "np", "dataclass", "field", "Any", "Final", "UCB1", "draw", "share"}
    assert not strangers & set(dir(bb.policies))
    assert not strangers - {"UCB1"} & set(dir(bb.indices))


@pytest.mark.parametrize("registry", REGISTRIES, ids=lambda registry: registry.kind)
def test_each_says_all_that_there_is_to_say(registry: Registry[Any]) -> None:
    for definition, row in zip(registry.values(), registry.catalogue(), strict=True):
        assert definition.name == row.name
        assert definition.example() is not None
        assert row.summary.endswith((".", "?).")), row
        assert "see `" not in row.summary
        assert row.summary in listing()


def test_parameters_are_told_as_a_file_says_them() -> None:
    parameters = {row.name: row.parameters for registry in REGISTRIES[:5] for row in registry.catalogue()}
    assert parameters["kube"] == "width = 1.0"
    assert parameters["epsilon_greedy"] == "c, d"
    assert parameters["epsilon_first"] == 'epsilon, exploit = "DensityGreedy"'
    assert parameters["beta"] == "a, b, low = 0.0, high = 1.0"
    assert parameters["Exact"] == ""


def test_the_listing_fits_a_terminal_and_says_where_a_policy_comes_from() -> None:
    assert max(map(len, listing().splitlines())) <= 120
    paragraphs = listing().split("\n  ")
    found = next(text for text in paragraphs if text.startswith("omega_ucb"))
    assert "omega_ucb (rho = 0.25" in found
    told = listing().partition("omega_ucb")[2].partition("ucb_bv1")[0]
    assert "published: Heyden et al. 2024; made for random costs\n" in told
    assert "regret with a budget: logarithmic for rho of 1 or more" in told
    assert "own; made for random costs; no proof" in listing().partition("\n  ucb_bwk")[2].partition("pacer")[0]


@pytest.mark.parametrize("registry", REGISTRIES, ids=lambda registry: registry.kind)
def test_every_source_is_among_the_references_of_the_documentation(registry: Registry[Any]) -> None:
    sources = {row.source for row in registry.catalogue()} - {None, "textbook"}
    for source in (part for told in sources for part in str(told).split("; ")):
        author, year = source.partition(" ")[0].strip(","), source.replace(" (thesis)", "")[-4:]
        entries = REFERENCES.replace("\n  ", " ").splitlines()
        assert any(author in entry and year in entry for entry in entries), source


@pytest.mark.parametrize(
    ("policy", "origin"),
    [
        (bb.kube(), "published"),
        (bb.epsilon_first(0.3), "published"),
        (bb.policies.fractional_kde(7), "published"),
        (bb.IndexPolicy(bb.indices.UCB1(), bb.oracles.Exact(), clip=True), "published"),
        (bb.policies.omega_ucb(), "published"),
        (bb.Forgetful(bb.thompson(), bb.memories.Window(10)), "published"),
        (bb.recommended(), "own"),
        (bb.Forgetful(bb.recommended(), bb.memories.Window(10)), "own"),
        (bb.policies.ucb_bwk(), "own"),  # after a published one, with other constants
    ],
    ids=repr,
)
def test_the_origin_of_a_policy_is_that_of_what_decides(policy: bb.Policy, origin: str) -> None:
    assert bb.policies.origin_of(policy) == origin


# --- Tables of the documentation ----------------------------------------------------------------------------


def test_the_tables_of_the_documentation_are_what_is_registered() -> None:
    assert "<!-- table: policies" in PAGE
    assert with_tables(PAGE) == PAGE, "docs/policies.md does not say what is registered: run `make tables`"


@pytest.mark.parametrize("registry", REGISTRIES, ids=lambda registry: registry.kind)
def test_everything_registered_stands_in_the_documentation(registry: Registry[Any]) -> None:
    assert [row.name for row in registry.catalogue() if f"| `{row.name}` | " not in PAGE] == []


def test_a_table_that_there_is_not_is_named() -> None:
    with pytest.raises(InvalidInput, match="table is 'polices': did you mean 'policies'"):
        with_tables("<!-- table: polices -->\n<!-- end of table -->")


def test_text_around_tables_stays_and_tables_are_written_twice_alike() -> None:
    text = "before\n<!-- table: oracles -->\nold\n<!-- end of table -->\nafter <!-- table: x"
    once = with_tables(text)
    assert once.startswith("before\n<!-- table: oracles -->\n\n| name | parameters | what it is |\n")
    assert once.endswith("<!-- end of table -->\nafter <!-- table: x")
    assert with_tables(once) == once
