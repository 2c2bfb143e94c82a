"""Files are written whole or not at all."""

import pytest

from loa.storage.files import write_json, write_whole


def test_a_failed_write_leaves_the_old_file_and_no_rest(tmp_path):
    path = tmp_path / "numbers.json"
    write_json(path, {"a": 1})

    def fail(temporary):
        temporary.write_text("half")
        raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space"):
        write_whole(path, fail)
    assert path.read_text() == '{\n  "a": 1\n}\n'
    assert list(tmp_path.iterdir()) == [path]


def test_json_is_strict(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "numbers.json", {"a": float("nan")})
    assert list(tmp_path.iterdir()) == []
