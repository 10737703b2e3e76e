"""Small files written by hand, against tables written by hand; and files that are refused."""

import gzip
import math
import time
import tracemalloc

import numpy as np
import pytest

from posteriori.networks import BayesianNetwork
from posteriori.networks.files import table_limits
from posteriori.networks.files.network_files import read_network_file, write_network_file
from posteriori.networks.files.network_tables import FactorTables, NetworkTables
from posteriori.networks.files.uai_evidence import read_evidence

BIF = """\
// asia in small
network "Chest clinic" { property author = someone; }
variable asia { type discrete [ 2 ] { yes, no }; property position = (1, 2); }
variable "tub <5" { //2 values
  type discrete[3] { <5 "5 to 9" Asy/Patch };
}
variable x-1 {
  property seen "// no comment";
  type discrete [ 2 ] { very low, high };
}
/* tables
   follow */
probability ( asia ) { table 0.01, .99; }
probability ( "tub <5" | asia ) {
  (no) 1e-1, 2E-1, 0.7;
  (yes) 0.25 0.25 5.0e-1;
}
probability ( x-1 | asia, "tub <5" ) {
  default 0.5, 0.5;
  (no, "5 to 9") 0.125, 0.875; /* one row */
  (yes, Asy/Patch) 1, 0;
  property weight = 3;
}
"""

XMLBIF = """\
<?xml version="1.0" encoding="ISO-8859-1"?>
<!DOCTYPE BIF [ <!ELEMENT BIF ( NETWORK )*> <!ELEMENT NETWORK ( VARIABLE )*> ]>
<BIF VERSION="0.3"><NETWORK><NAME>small</NAME><PROPERTY>a</PROPERTY>
<VARIABLE TYPE="nature"><NAME>a</NAME><OUTCOME>no</OUTCOME><OUTCOME>&lt;5 \xe9</OUTCOME></VARIABLE>
<VARIABLE><NAME> b </NAME><OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME><OUTCOME>z</OUTCOME></VARIABLE>
<DEFINITION><FOR>b</FOR><GIVEN>a</GIVEN>
<TABLE><!-- a = no -->.1 .2 .7 <!-- other -->.3 .3 .4</TABLE></DEFINITION>
<DEFINITION><FOR>a</FOR><TABLE>0.25 0.75</TABLE></DEFINITION>
</NETWORK></BIF>
"""

UAI = "BAYES\n2\n2 3\n2\n2 0 1\n1 0\n\n6\n .1 .2 .7\n .3 .3 .4\n2\n .25 .75\n"
MARKOV = "MARKOV 3  2 2 3  3  1 0  2 2 1  0   2 4.0 2.4  6 1 2 3 4 5 6  1 0.5\n"


def read(tmp_path, name, content, **options):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_network_file(path, **options)


def assert_same(found, expected):
    assert type(found) is type(expected)
    assert found[:3] == expected[:3]
    for table, other in zip(found.tables, expected.tables, strict=True):
        assert table.dtype == np.float64
        assert np.array_equal(table, other)
        assert table.shape == other.shape


def test_bif_with_all_that_it_may_have(tmp_path):
    expected = NetworkTables(
        ("asia", "tub <5", "x-1"),
        (("yes", "no"), ("<5", "5 to 9", "Asy/Patch"), ("very low", "high")),
        ((), ("asia",), ("asia", "tub <5")),
        (
            np.array([0.01, 0.99]),
            np.array([[0.25, 0.25, 0.5], [0.1, 0.2, 0.7]]),
            np.array([[[0.5, 0.5], [0.5, 0.5], [1, 0]], [[0.5, 0.5], [0.125, 0.875], [0.5, 0.5]]]),
        ),
    )
    assert_same(read(tmp_path, "small.bif", BIF), expected)
    assert_same(read(tmp_path, "small.bif.gz", gzip.compress(BIF.encode())), expected)
    assert_same(read(tmp_path, "SMALL.BIF", b"\xef\xbb\xbf" + BIF.encode()), expected)


def test_the_table_of_bif_has_its_own_state_slowest(tmp_path):
    # The example of the format: p(light on | family out) = .6, p(light on | family in) = .05.
    text = (
        'variable "light-on" { type discrete[2] { "true" "false" }; }\n'
        'variable "family-out" { type discrete[2] { "true""false" }; }\n'
        'probability ( "light-on" "family-out" ) { table 0.6 0.05 0.4 0.95 ; }\n'
        'probability ( "family-out" ) { table 0.15 0.85 ; }\n'
    )
    network = read(tmp_path, "dog.bif", text)
    assert network.parents == (("family-out",), ())
    assert network.states == (("true", "false"),) * 2
    assert network.tables[0].tolist() == [[0.6, 0.4], [0.05, 0.95]]


def test_xmlbif_has_its_own_state_fastest(tmp_path):
    network = read(tmp_path, "small.xmlbif", XMLBIF.encode("latin-1"))
    expected = NetworkTables(
        ("a", "b"),
        (("no", "<5 é"), ("x", "y", "z")),
        ((), ("a",)),
        (np.array([0.25, 0.75]), np.array([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]])),
    )
    assert_same(network, expected)
    assert_same(read(tmp_path, "small.xml", XMLBIF.encode("latin-1")), expected)


def test_uai_has_numbers_for_names(tmp_path):
    expected = NetworkTables(
        ("x0", "x1"),
        (("0", "1"), ("0", "1", "2")),
        ((), ("x0",)),
        (np.array([0.25, 0.75]), np.array([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]])),
    )
    assert_same(read(tmp_path, "small.uai", UAI), expected)


def test_uai_of_a_markov_network(tmp_path):
    expected = FactorTables(
        ("x0", "x1", "x2"),
        (("0", "1"), ("0", "1"), ("0", "1", "2")),
        (("x0",), ("x2", "x1"), ()),
        (np.array([4.0, 2.4]), np.array([[1.0, 2], [3, 4], [5, 6]]), np.array(0.5)),
    )
    assert_same(read(tmp_path, "small.uai", MARKOV), expected)


@pytest.mark.parametrize(
    ("text", "samples"),
    [
        ("2 1 0 3 1\n", [{"x1": 0, "x3": 1}]),
        ("2\n1 0\n3 1\n", [{"x1": 0, "x3": 1}]),
        ("1\n2 1 0 3 1\n", [{"x1": 0, "x3": 1}]),
        ("2\n1 0 1\n2 1 0 3 1\n", [{"x0": 1}, {"x1": 0, "x3": 1}]),
        ("2\n0 1\n3 0\n", [{"x0": 1, "x3": 0}]),
        ("2\n\n0\n1 3 0\n", [{}, {"x3": 0}]),
        ("0\n", [{}]),
        ("1\n0\n", [{}]),
        ("1 1 0 1\n", [{"x0": 1}]),
    ],
)
def test_evidence_with_and_without_the_number_of_samples(tmp_path, text, samples):
    path = tmp_path / "a.uai.evid"
    path.write_text(text)
    assert list(read_evidence(path)) == samples
    packed = tmp_path / "a.uai.evid.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert list(read_evidence(packed)) == samples


@pytest.mark.parametrize("text", ["", "x", "1 5", "2 0 1 0 1", "3\n1 0 1\n", "-1", "9" * 30])
def test_evidence_that_is_wrong(tmp_path, text):
    path = tmp_path / "a.uai.evid"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"a\.uai\.evid, line \d: expected"):
        read_evidence(path)


def test_rows_near_one_are_divided_by_their_sum_and_noted(tmp_path):
    text = "BAYES 2  2 3  2  1 0  2 0 1   2 .25 .75   6 .3333333 .3333333 .3333333 .1 .2 .7"
    network = read(tmp_path, "a.uai", text)
    assert network.tables[1][0].tolist() == [0.3333333 / (3 * 0.3333333)] * 3
    assert network.tables[1][1].tolist() == [0.1, 0.2, 0.7]  # whose sum is 1 - 2**-53
    assert len(network.notes) == 1
    assert "1 of 2 rows of 'x1'" in network.notes[0]
    assert "1.0e-07" in network.notes[0]


def edited(old, new):
    assert old in BIF
    return BIF.replace(old, new, 1)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (
            edited("2E-1, 0.7", "2E-1, 0.8"),
            15,
            r"p\(tub <5 \| asia=no\) sums to 1\.1, 0\.1 too much",
        ),
        (
            edited("0.5, 0.5;", "0.5, 0.4;"),
            19,
            r"p\(x-1 \| asia=yes, tub <5=<5\) sums to 0\.9, 0\.1",
        ),
        (edited("1e-1, 2E-1, 0.7", "-.1, .4, .7"), 15, r"p\(tub <5 \| asia=no\) holds -0\.1"),
        (edited("1e-1, 2E-1", "nan, 2E-1"), 15, r"p\(tub <5 \| asia=no\) holds nan"),
        (edited("1e-1, 2E-1", "1e-1, x"), 15, "expected a number, got 'x'"),
        (edited("2E-1, 0.7;", "2E-1;"), 15, "expected 3 numbers, got 2"),
        (edited("  (yes) 0.25 0.25 5.0e-1;\n", ""), 15, r"p\(tub <5 \| asia=yes\) is missing"),
        (edited("(yes) 0.25", "(no) 0.25"), 16, r"p\(tub <5 \| asia=no\) once, got it twice"),
        (edited("(yes) 0.25", "(yse) 0.25"), 16, "state of 'asia', got 'yse'; did you mean 'yes'"),
        (edited("(yes) 0.25", "(yes, no) 0.25"), 16, "expected states of 1 parents, got 2"),
        (
            edited("| asia )", "| aisa )"),
            14,
            "expected a declared variable, got 'aisa'; did you mean",
        ),
        (edited("| asia )", "| asia, asia )"), 14, "names a variable twice"),
        (edited("( asia )", "( x-1 )"), 18, "expected one table of 'x-1', got another"),
        (edited("probability ( asia ) { table 0.01, .99; }", ""), 24, "expected a table of 'asia'"),
        (edited("variable x-1", "variable asia"), 7, "'asia' is declared twice"),
        (edited("[ 2 ] { yes, no }", "[ 3 ] { yes, no }"), 3, "as are declared, 3, .* got 2"),
        (edited("{ yes, no }", "{ yes, yes }"), 3, "the state 'yes' is declared twice"),
        (edited("type discrete [ 2 ] { yes", "type real [ 2 ] { yes"), 3, "expected type discrete"),
        (edited("table 0.01, .99;", "table 0.01, .99; default 0.5 0.5;"), 13, "expected one table"),
        (edited("property weight = 3;\n}\n", ""), 22, "got the end of the file"),
        (edited("variable x-1", "node x-1"), 7, "network, variable or probability, got 'node x-1"),
    ],
)
def test_a_malformed_bif_is_told_with_its_line(tmp_path, text, line, message):
    with pytest.raises(ValueError, match=rf"a\.bif, line {line}: .*{message}"):
        read(tmp_path, "a.bif", text)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (UAI.replace("BAYES", "BAYS"), 1, "expected BAYES or MARKOV, got 'BAYS'"),
        (UAI.replace("2 3\n", "2 0\n"), 3, "expected at least one state"),
        (UAI.replace("2 0 1\n", "2 0 2\n"), 5, "expected a variable below 2, got '2'"),
        (UAI.replace("2 0 1\n", "2 1 0\n"), 8, "got 2 of x0"),
        (UAI.replace("6\n", "5\n"), 8, "expected a table of 6 numbers, got 5"),
        (UAI.replace(".3 .3", ".3 .4"), 10, r"p\(x1 \| x0=1\) sums to 1.1"),
        (UAI.replace(".25 .75", ".25"), 11, "expected 2 entries .*, got 1"),
        (UAI.replace(".25 .75", ".25 .75 1"), 12, "expected the end of the file, got '1'"),
        (UAI.replace(".7", "a"), 9, "expected numbers"),
    ],
)
def test_a_malformed_uai_is_told_with_its_line(tmp_path, text, line, message):
    with pytest.raises(ValueError, match=rf"a\.uai, line {line}: .*{message}"):
        read(tmp_path, "a.uai", text)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ISO-8859-1", "ISO-8859-99", "line 1: expected one of the encodings utf-8"),
        ("ISO-8859-1", "cp037", "line 1: expected one of the encodings utf-8"),
        ("ISO-8859-1", "shift_jis", "line 1: expected one of the encodings utf-8"),
        ("<FOR>b</FOR>", "<FOR>c</FOR>", "line 6: expected a declared variable, got 'c'"),
        ("<FOR>b</FOR>", "", "line 6: expected one FOR in DEFINITION, got 0"),
        (".1 .2", ".1", "line 6: expected 6 numbers of 'b', got 5"),
        (".1 .2", ".1 .3", r"line 6: p\(b \| a=no\) sums to 1\.1"),
        (".1 .2", ".1 two", "line 6: expected numbers"),
        ("<NETWORK>", "<NETWORK", "line 3: expected XML"),
        ('TYPE="nature"', 'TYPE="utility"', "line 4: expected TYPE nature, got 'utility'"),
        ("<FOR>a</FOR>", "<FOR>b</FOR>", "line 8: expected one table of 'b'"),
        ("<OUTCOME>no</OUTCOME>", "<OUTCOME>&no;</OUTCOME>", "line 4: expected XML, got undefined"),
        ("<!ELEMENT BIF", '<!ENTITY a "b"> <!ELEMENT BIF', "line 2: expected no entities"),
        ("<!ELEMENT BIF", '<!ENTITY a SYSTEM "/etc/passwd"> <!ELEMENT BIF', "expected no entities"),
        ("<!ELEMENT BIF", '<!ENTITY % a SYSTEM "x.dtd"> %a; <!ELEMENT BIF', "expected no entities"),
    ],
)
def test_a_malformed_xmlbif_is_told_with_its_line(tmp_path, old, new, message):
    assert old in XMLBIF
    content = XMLBIF.replace(old, new, 1).encode("latin-1")
    with pytest.raises(ValueError, match=message):
        read(tmp_path, "a.xml", content)


def test_entities_that_grow_take_no_memory(tmp_path):
    laughs = "".join(f'<!ENTITY l{k} "{f"&l{k - 1};" * 10}">' for k in range(1, 10))
    text = f'<!DOCTYPE BIF [<!ENTITY l0 "ha">{laughs}]><BIF VERSION="0.3">&l9;</BIF>'
    with pytest.raises(ValueError, match="expected no entities"):
        read(tmp_path, "a.xmlbif", text)


def test_a_document_type_elsewhere_is_not_fetched(tmp_path):
    text = XMLBIF.replace("<!DOCTYPE BIF [", '<!DOCTYPE BIF SYSTEM "http://localhost:1/a.dtd" [')
    assert read(tmp_path, "a.xmlbif", text.encode("latin-1")).names == ("a", "b")


def huge_bif(parents):
    variables = [f"variable v{k} {{ type discrete [ 2 ] {{ a, b }}; }}" for k in range(parents)]
    tables = [f"probability ( v{k} ) {{ default 0.5, 0.5; }}" for k in range(1, parents)]
    given = ", ".join(f"v{k}" for k in range(1, parents))
    tables.append(f"probability ( v0 | {given} ) {{ default 0.5, 0.5; }}")
    return "\n".join(variables + tables)


@pytest.mark.parametrize(("parents", "size"), [(45, str(8 * 2**45)), (200, r"2\*\*203")])
def test_a_huge_table_is_refused_with_its_bytes(tmp_path, parents, size):
    with pytest.raises(MemoryError, match=size):
        read(tmp_path, "a.bif", huge_bif(parents))
    scope = " ".join(map(str, range(parents)))
    sizes = " ".join(["2"] * parents)
    with pytest.raises(MemoryError, match=size):
        read(tmp_path, "a.uai", f"MARKOV {parents} {sizes} 1 {parents} {scope} 4 1 1 1 1")


def test_states_that_nobody_names_are_refused_too(tmp_path):
    with pytest.raises(MemoryError, match="bytes"):
        read(tmp_path, "a.uai", "MARKOV 1 1000000000000 0")


def test_the_limit_of_memory_can_be_given(tmp_path):
    assert read(tmp_path, "a.bif", huge_bif(10), memory_limit=10_000).tables[0].size == 1024
    with pytest.raises(MemoryError, match="8192 bytes"):
        read(tmp_path, "a.bif", huge_bif(10), memory_limit=8000)


def test_what_reading_and_asking_take_is_counted(tmp_path, monkeypatch):
    """A table of 1 MB needs free memory for seven times that, twice: no more is taken."""
    path, size = tmp_path / "a.bif", 8 * 2**17
    path.write_text(huge_bif(17))
    BayesianNetwork.read(path).query("v0")  # what is compiled is compiled
    tracemalloc.start()
    BayesianNetwork.read(path).query("v0")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 7.2 * size
    monkeypatch.setattr(table_limits, "free_memory", lambda: 13 * size)
    with pytest.raises(MemoryError, match=r"the table of 'v0' is the first that does not fit"):
        BayesianNetwork.read(path)


def test_a_constant_can_be_too_much(tmp_path):
    with pytest.raises(MemoryError, match="16 bytes, and 8 may be used; the table of no variables"):
        read(tmp_path, "a.uai", "MARKOV 0 2 0 0 1 2.0 1 3.0", memory_limit=8)


def test_parents_with_one_state_have_axes_too(tmp_path):
    names = " ".join(map(str, range(70)))
    text = f"MARKOV 70 {' '.join(['1'] * 70)} 1 70 {names} 1 0.5"
    with pytest.raises(ValueError, match="70 variables, an array at most 64"):
        read(tmp_path, "a.uai", text)


def test_an_unknown_suffix_names_the_known(tmp_path):
    with pytest.raises(
        ValueError, match=r"'net\.dsl\.gz' .* \.bif, \.xmlbif, \.xml, \.uai, .* \.gz"
    ):
        read_network_file("net.dsl.gz")
    with pytest.raises(FileNotFoundError):
        read_network_file(tmp_path / "missing.bif")


@pytest.mark.parametrize("cut", [lambda c: c[:-9], lambda c: b"no" + c, lambda c: c[:40] + c[41:]])
def test_a_damaged_packed_file_is_told(tmp_path, cut):
    with pytest.raises(ValueError, match=r"a\.bif\.gz cannot be unpacked"):
        read(tmp_path, "a.bif.gz", cut(gzip.compress(BIF.encode())))


def test_a_packed_file_does_not_grow_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr("posteriori.networks.files.file_text.MOST_BYTES", 1 << 22)
    with pytest.raises(ValueError, match="holds more than 4194304 bytes"):
        read(tmp_path, "a.bif.gz", gzip.compress(b" " * (1 << 23)))


def test_bytes_that_are_not_utf8_are_told(tmp_path):
    with pytest.raises(ValueError, match=r"a\.bif, line 3: byte 0xe9 is not UTF-8"):
        read(tmp_path, "a.bif", BIF.replace("yes, no", "y\xe9s, no").encode("latin-1"))


@pytest.mark.parametrize(
    "text",
    [
        " " * 200_000 + "x",
        "network a {" + " " * 200_000,
        "/*" * 100_000,
        "/* " * 100_000,
        '"' * 99_999,
        "probability (" * 30_000,
        "network a { }" * 30_000,
        "variable a { " + "property b;" * 30_000,
        "variable a { type discrete [ 1 ] { " + "a, " * 60_000,
    ],
)
def test_long_nonsense_takes_no_longer_than_its_length(tmp_path, text):
    start = time.process_time()
    try:
        read(tmp_path, "a.bif", text)
    except ValueError as error:
        assert "line 1" in str(error)  # noqa: PT017
    assert time.process_time() - start < 2.0


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    good = read(tmp_path, "a.uai", UAI)
    path = tmp_path / "b.bif"
    write_network_file(path, good)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"BIF has no way to write 'a\"b'.*rename"):
        write_network_file(path, good._replace(states=(("a", 'a"b'), ("0", "1", "2"))))
    with pytest.raises(ValueError, match=r"shape \(2,\); its states ask for \(3,\)"):
        write_network_file(path, good._replace(states=(("a", "b", "c"), ("0", "1", "2"))))
    with pytest.raises(ValueError, match=r"Markov network as \.uai"):
        write_network_file(path, read(tmp_path, "m.uai", MARKOV))
    with pytest.raises(ValueError, match="XMLBIF has no way to write ' a'"):
        write_network_file(tmp_path / "b.xml", good._replace(states=((" a", "b"), ("0", "1", "2"))))
    assert path.read_bytes() == before
    assert {each.name for each in tmp_path.iterdir()} == {"a.uai", "b.bif", "m.uai"}
    assert math.isclose(good.tables[0].sum(), 1.0)
