from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spansrl.inventory.frame_files import _tidy, read_frame_file


def test_a_file_gives_rolesets_with_roles_and_words(guard):
    (first, second, third), error = read_frame_file(guard, "guard.xml")
    assert error is None
    assert (first.id, first.name) == ("guard.01", "watch over")
    assert first.roles == {
        "0": "watcher",
        "1": "thing watched",
        "2": "TV channel",
        "M-LOC": "where the watcher stands",
    }
    assert first.aliases == [("v", "guard"), ("n", "guarding"), ("m", "on_guard")]
    assert (second.id, second.name, second.roles) == ("guard.02", "", {})
    assert (third.id, third.aliases) == ("guard_off.03", [("v", "guard_off")])


def test_a_file_with_broken_examples_is_reported_with_its_line_and_read_without_them(guard):
    rolesets, error = read_frame_file(guard.replace(b"</rel>", b"</arg>"), "frames/guard.xml")
    assert [roleset.id for roleset in rolesets] == ["guard.01", "guard.02", "guard_off.03"]
    assert str(error) == (
        "frames/guard.xml:22: invalid XML (mismatched tag); "
        "only its examples are broken, which are not needed: 3 rolesets kept, nothing to do"
    )


def test_of_a_file_that_is_cut_short_whole_rolesets_are_kept(guard):
    rolesets, error = read_frame_file(guard[: guard.index(b"keep away")], "guard.xml")
    assert [roleset.id for roleset in rolesets] == ["guard.01", "guard.02"]
    assert error is not None
    assert error.line == 31
    assert str(error).endswith(
        "; 2 rolesets kept, others may be missing: correct the file, or get the frames again"
    )


def test_an_example_that_never_ends_hides_nothing_before_it(guard):
    rolesets, error = read_frame_file(guard.replace(b"<roles><role", b"<example><roles><role"), "guard.xml")
    assert [roleset.id for roleset in rolesets] == ["guard.01", "guard.02"]
    assert error is not None


BOMB = """<!DOCTYPE frameset [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>"""
OUTSIDE = """<!DOCTYPE frameset [<!ENTITY a SYSTEM "file:///etc/hostname">]>"""
PARAMETER = """<!DOCTYPE frameset [<!ENTITY % a SYSTEM "http://localhost:9/a.dtd"> %a;]>"""


DEFAULTS = f"""<!DOCTYPE frameset [<!ATTLIST roleset name CDATA "{"a" * 1000}">]>"""


@pytest.mark.parametrize("doctype", [BOMB, OUTSIDE, PARAMETER, DEFAULTS, "<!DOCTYPE frameset []>"])
def test_declarations_in_the_file_are_refused(doctype):
    content = f'\n{doctype}\n<frameset><roleset id="a.01" name="&a;"/></frameset>'
    rolesets, error = read_frame_file(content.encode(), "a.xml")
    assert rolesets == []
    assert "a.xml:2: the file has its own DTD" in str(error)


def test_attribute_defaults_cannot_make_a_small_file_huge():
    value, rolesets = "a" * 100_000, "<roleset id='a.01'/>" * 10_000
    doctype = f'<!DOCTYPE frameset [<!ATTLIST roleset name CDATA "{value}">]>'
    content = f"{doctype}<frameset>{rolesets}</frameset>".encode()
    tracemalloc.start()
    try:
        assert read_frame_file(content, "a.xml")[0] == []
        assert tracemalloc.get_traced_memory()[1] < 10 * len(content)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "a.xml:1: invalid XML (no element found)"),
        (b"<html/>", "a.xml:1: the outermost element is 'html', expected 'frameset'"),
        (b"<frameset><roleset/></frameset>", "a.xml:1: a roleset has no id"),
        (b"<frameset>\xff</frameset>", "a.xml:1: invalid XML (not well-formed (invalid token))"),
        (b'<?xml version="1.0" encoding="klingon"?><frameset/>', "a.xml"),
        (b'<?xml version="1.0" encoding="shift_jis"?><frameset/>', "a.xml"),
    ],
)
def test_errors_are_one_line(content, message):
    rolesets, error = read_frame_file(content, "a.xml")
    assert rolesets == []
    assert str(error).startswith(message)
    assert "\n" not in str(error)


@given(st.binary())
@example(b"<frameset>" + b"<a>" * 20_000)
@example(b"<frameset>" + b"<example" * 20_000)
def test_no_bytes_make_it_fail_otherwise(content):
    rolesets, error = read_frame_file(content, "a.xml")
    assert rolesets == []
    assert error is not None


def test_text_from_any_alphabet_is_read():
    inner = '<roleset id="ge.01" name="Ärger  &amp; Größe"><role n="1" descr="Ziel"/></roleset>'
    (roleset,), error = read_frame_file(f"<frameset>{inner}</frameset>".encode(), "a.xml")
    assert error is None
    assert (roleset.name, roleset.roles) == ("ärger & Größe", {"1": "ziel"})


@pytest.mark.parametrize(
    ("found", "tidy"),
    [
        ("Thing  Sold", "thing sold"),
        ("Agent of it", "agent of it"),
        ("TV channel", "TV channel"),
        ("Price Paid to NASA", "price Paid to NASA"),
        ("Buyer", "buyer"),
        ("I", "I"),
        ("", ""),
    ],
)
def test_meanings_have_no_capitals_of_a_title(found, tidy):
    assert _tidy(found) == tidy


LINKED = """<frameset><roleset id="see.01" name="">
<roles>
  <role n="0" f="pag" descr="viewer"><rolelinks>
    <rolelink class="see-30.1" resource="VerbNet" version="verbnet3.4">nm</rolelink>
    <rolelink class="see-30.1" resource="VerbNet" version="verbnet3.4"> pivot </rolelink>
    <rolelink class="see-30.1" resource="VerbNet" version="verbnet3.3">experiencer??</rolelink>
    <rolelink class="see-30.1-1" resource="VerbNet" version="verbnet3.3">agent</rolelink>
  </rolelinks></role>
  <role n="1" f="PPT" descr="thing viewed"><rolelinks>
    <rolelink class="Perception" resource="FrameNet" version="1.7">phenomenon</rolelink>
    <rolelink class="see-30.1" resource="VerbNet" version="verbnet3.4">co-patiet</rolelink>
    <rolelink class="see-30.1" resource="VerbNet" version="UNK">initial location</rolelink>
  </rolelinks></role>
  <role n="2" f="" descr="attribute"><rolelinks>
    <rolelink class="see-30.1" resource="VerbNet" version="verbnet3.3">expired</rolelink>
  </rolelinks></role>
  <role n="1" f="GOL" descr="again"><rolelinks>
    <rolelink class="see-30.1" resource="VerbNet" version="verbnet3.3">theme</rolelink>
  </rolelinks></role>
</roles>
<lexlinks>
  <lexlink class="see-30.1" resource="VerbNet" version="verbnet3.3"/>
  <lexlink class="see-30.1see-30.1" resource="VerbNet" version="verbnet3.3"/>
  <lexlink class="expired" resource="VerbNet" version="verbnet3.3"/>
  <lexlink class="stimulus_see-30.4" resource="VerbNet" version="verbnet3.4"/>
  <lexlink class="Perception" resource="FrameNet" version="1.7"/>
  <lexlink class="Perception" resource="Framenet" version="1.7"/>
</lexlinks>
</roleset></frameset>"""


def test_links_are_cleaned_and_those_to_verbnet_3_3_come_first():
    (roleset,), error = read_frame_file(LINKED.encode(), "see.xml")
    assert error is None
    assert roleset.functions == {"0": "PAG", "1": "PPT"}
    assert roleset.thematic == {"0": "experiencer", "1": "co_patient"}
    assert roleset.classes == ["see-30.1"]
    assert roleset.frames == ["Perception"]
