"""Pattern files: form, errors that say what, why, where and what to do, and the literal text that records are found by."""

import pytest

from forensics.catalogue import patterns
from forensics.catalogue.literals import STORED, facts_of, to_store
from forensics.catalogue.pattern_files import parse_events
from forensics.errors import CatalogueError
from forensics.resources import parsers_dir
from forensics.schema import parse_fields, table_columns, table_schema

BLOCK = """
[[event]]
name     = "own_event"
category = "other"
logger   = "com.example.Own"
kafka    = "2.4.0.."
pattern  = '''
    Own\\ message\\ of\\ (?P<connector>\\S+)\\ says\\ (?P<text>.*)
'''

[[event.example]]
line   = "Own message of orders says hello"
fields = { connector = "orders", text = "hello" }
"""


def own(tmp_path, text, name="own.toml"):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return patterns.check([tmp_path])


def test_packaged_files_check():
    assert [str(e) for e in patterns.check()] == []


def test_own_folder_adds_to_the_catalogue(tmp_path):
    assert own(tmp_path, BLOCK) == []
    catalogue = patterns.load([tmp_path])
    assert catalogue.events[-1].name == "own_event"
    assert catalogue.hash != patterns.load().hash
    assert patterns.load([tmp_path / "own.toml"]).events[-1].name == "own_event"


def test_own_captures(tmp_path):
    (tmp_path / "fields.toml").write_text('[shoe_size]\ntype = "int"\nmeaning = "Size of the shoe"\n', encoding="utf-8")
    text = BLOCK.replace("(?P<text>.*)", "(?P<shoe_size>\\d+)").replace("says hello", "says 42").replace('text = "hello"', "shoe_size = 42")
    assert own(tmp_path, text) == []
    assert "shoe_size" in patterns.load([tmp_path]).fields


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('category = "other"', 'category = "others"', ["Unknown category `others`", "own.toml:2", "One of membership"]),
        ('name     = "own_event"', 'nam      = "own_event"', ["Unknown key `nam`", "own.toml:2"]),
        ('name     = "own_event"', 'name = "Own Event"', ["lower case words"]),
        ('kafka    = "2.4.0.."', 'kafka = "since 2.4"', ["not a range of releases", '"2.4.0.."']),
        ('logger   = "com.example.Own"', 'logger = "com example"', ["not a class name"]),
        ('logger   = "com.example.Own"', "", ["lacks `logger`"]),
        ("(?P<text>.*)", "(?P<text>.*", ["does not compile", "own.toml:8", "^", "Patterns are verbose"]),
        ("(?P<text>", "(?P<shoe_size>", ["captures `shoe_size`", "fields.toml", "own.toml:8", "^^^"]),
        ("Own message of orders says hello", "Own message of orders said hello", ["does not match its own example", "matched up to here", "^"]),
        ("Own message of orders says hello", "Own message of", ["the message ends too early"]),
        ('text = "hello"', 'text = "bye"', ["gives other captures", "text: stated 'bye', captured 'hello'"]),
        (', text = "hello"', "", ["text: stated None, captured 'hello'"]),
        ("[[event.example]]", "[[event.exampel]]", ["Unknown key `exampel`"]),
        ("fields = {", "captures = {", ["An example needs a `line`"]),
        ("Own\\ message\\ of\\ (?P<connector>\\S+)\\ says\\ ", "(?P<connector>\\S+\\s\\S+)\\s", ["contains no literal text"]),
    ],
)
def test_errors_say_what_why_where_and_what_to_do(tmp_path, old, new, expected):
    assert old in BLOCK
    errors = own(tmp_path, BLOCK.replace(old, new, 1))
    assert errors, "nothing was found wrong"
    text = "\n".join(map(str, errors))
    assert [e for e in expected if e not in text] == [], text


def test_two_blocks_for_one_message(tmp_path):
    errors = own(tmp_path, BLOCK + BLOCK.replace("own_event", "other_event"))
    assert len(errors) == 2
    assert "is matched by `other_event` too" in str(errors[0])
    assert "own.toml:2 and" in str(errors[0])


def test_counterexamples(tmp_path):
    assert own(tmp_path, BLOCK + '\n[[event.counterexample]]\nline = "Own message"\n') == []
    errors = own(tmp_path, BLOCK + '\n[[event.counterexample]]\nline = "Own message of a says b"\n')
    assert "is matched by `own_event`" in str(errors[0])
    errors = own(tmp_path, BLOCK + '\n[[event.counterexample]]\nline = "Own message"\nevent = "joined"\n')
    assert "is matched by nothing" in str(errors[0])


def test_event_without_example(tmp_path):
    errors = own(tmp_path, BLOCK[: BLOCK.index("[[event.example]]")])
    assert "has no example" in str(errors[0])


def test_broken_toml_names_the_line(tmp_path):
    errors = own(tmp_path, '[[event]]\nname = "x\n')
    assert "not valid TOML" in str(errors[0])
    assert "own.toml:2" in str(errors[0])


def test_other_tables_are_refused(tmp_path):
    assert "Unknown table `events`" in str(own(tmp_path, "[[events]]\nname = 'x'\n")[0])


def test_missing_folder(tmp_path):
    with pytest.raises(CatalogueError, match="no pattern file or folder"):
        patterns.load([tmp_path / "nowhere"])


def test_capture_with_two_types(tmp_path):
    errors = own(tmp_path, '[generation]\ntype = "string"\nmeaning = "Something else"\n', "fields.toml")
    assert "has two types" in str(errors[0])


def test_capture_named_as_a_column(tmp_path):
    errors = own(tmp_path, '[line]\ntype = "string"\nmeaning = "Something else"\n', "fields.toml")
    assert "the name of a standard column" in str(errors[0])


@pytest.mark.parametrize("text", ["[a]\ntype = 'string'\n", "[a]\ntype = 'colour'\nmeaning = 'Colour'\n", "a = 1\n", "[a\n"])
def test_fields_form(text):
    with pytest.raises(CatalogueError):
        parse_fields(text, "fields.toml")


def test_line_numbers_skip_blocks_inside_strings():
    text = BLOCK + BLOCK.replace("own_event", "two").replace("Own\\", "[[event]]\n    Own\\", 1)
    first, second = parse_events(text, "f.toml")
    assert (first.line, second.line) == (2, 2 + BLOCK.count("\n"))


@pytest.mark.parametrize(
    ("pattern", "prefixes", "anchors"),
    [
        (r"Joined\ (?P<a>\d+)\ end", ("Joined ",), ("Joined ",)),
        (r"(?:Revoke|Lost)\ x", ("Lost x", "Revoke x"), ("Lost x", "Revoke x")),
        (r"(?P<x>\S+)\ is\ here", ("",), (" is here",)),
        (r"a(?:bc)?d", ("abcd", "ad"), ("abcd", "ad")),
        (r"[lL]eaving\ now(?P<r>.*)", ("Leaving now", "leaving now"), ("Leaving now", "leaving now")),
        (r"(?:Added|Removed)\ (?P<n>\d+)\ members\ of\ the\ group", ("Added ", "Removed "), (" members of the group",)),
        (r"(?:(?P<m>a+)\ left|(?P<m>b+)\ joined)", ("",), (" joined", " left")),
        (r".*", ("",), ()),
    ],
)
def test_facts_of_a_pattern(pattern, prefixes, anchors):
    assert facts_of(pattern)[::2][:2] == (prefixes, anchors)


def test_the_facts_of_shipped_patterns_are_stored():
    stored = (parsers_dir() / STORED).read_text(encoding="utf-8")
    assert stored == to_store(event.pattern for event in patterns.load().events), "run `make docs`"


def test_every_column_has_a_meaning_and_a_name_of_its_own():
    for table in ("event_row", "unrecognised_row", "counted_row", "range_row", "evidence_file"):
        columns = table_columns(table)
        assert len({c.name for c in columns}) == len(columns)
        assert all(len(c.meaning) > 5 for c in columns)
    assert table_schema("event_row").field("generation").metadata == {
        b"comment": table_columns("event_row")[[c.name for c in table_columns("event_row")].index("generation")].meaning.encode()
    }


def test_own_block_that_takes_a_packaged_message(tmp_path):
    text = BLOCK.replace("com.example.Own", "org.apache.kafka.clients.Metadata").replace(
        "Own\\ message\\ of\\ (?P<connector>\\S+)\\ says\\ (?P<text>.*)", "Cluster\\ (?P<text>.*)"
    )
    text = text.replace("Own message of orders says hello", "Cluster hello").replace('connector = "orders", ', "")
    errors = own(tmp_path, text)
    assert "An example of `kafka_cluster_id` is matched by `own_event` too." in str(errors[0])
