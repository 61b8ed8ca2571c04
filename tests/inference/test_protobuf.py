"""The wire format of protocol buffers: what is written is read back, and damage is a ValueError."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spansrl.inference.protobuf import fields, integer, integers, message, part, text

numbers = st.integers(1, 2**20)
contents = st.lists(
    st.one_of(
        st.builds(integer, numbers, st.integers(0, 2**64 - 1)),
        st.builds(part, numbers, st.binary(max_size=300)),
        st.builds(text, numbers, st.text()),
        st.tuples(numbers, st.just(1), st.binary(min_size=8, max_size=8)),
        st.tuples(numbers, st.just(5), st.binary(min_size=4, max_size=4)),
    )
)


@given(contents)
def test_fields_are_read_as_they_were_written(content):
    assert list(fields(message(*content))) == content


@given(st.lists(st.integers(0, 2**63 - 1), min_size=1))
def test_repeated_integers_are_read_packed_and_unpacked(values):
    packed = b"".join(message(integer(1, value))[1:] for value in values)  # without the tags
    assert integers(values) == integers([packed]) == values


@given(st.binary())
def test_any_bytes_are_read_or_refused(content):
    try:
        found = list(fields(content))
    except ValueError:
        return
    assert list(fields(message(*found))) == found


@pytest.mark.parametrize("content", [b"\x0a\x05ab", b"\x80", b"\x0d\x00", b"\x0b", b"\xff" * 12])
def test_damaged_messages_are_refused(content):
    with pytest.raises(ValueError, match="protocol buffers"):
        list(fields(content))
