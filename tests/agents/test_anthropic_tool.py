"""The Anthropic memory tool: what each command does, says and refuses."""

from __future__ import annotations

import re
from typing import Any

import pytest
from anthropic.tools import ToolError
from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_agent_memory import Memory
from django_agent_memory.adapters.anthropic import MemoryTool
from django_agent_memory.adapters.file_views import LONGEST_VIEW
from django_agent_memory.models import Note

GONE = "The path {} does not exist. Please provide a valid path."


@pytest.fixture
def tool(memory: Memory) -> MemoryTool:
    return MemoryTool(memory)


def do(tool: MemoryTool, command: str, path: str | None = None, /, **arguments: Any) -> str:
    where = {} if path is None else {"path": path}
    return str(tool.call({"command": command, **where, **arguments}))


def refused(tool: MemoryTool, command: str, path: str | None = None, /, **arguments: Any) -> str:
    """Return what a refused command says; nothing was written."""
    before = tool.files.memory.revision()
    with pytest.raises(ToolError) as caught:
        do(tool, command, path, **arguments)
    assert tool.files.memory.revision() == before
    return str(caught.value)


class TestView:
    def test_a_directory_is_shown_two_levels_deep_without_what_is_hidden(self, tool):
        for name in (
            "b.md",
            "a/x/deep",
            "a/y",
            ".secret",
            "a/.h",
            "node_modules/z",
            "a/node_modules",
        ):
            tool.files.memory.remember(name, None, "é" * 768)
        assert do(tool, "view", "/memories") == (
            "Here're the files and directories up to 2 levels deep in /memories, "
            "excluding hidden items and node_modules:\n"
            "4.5K\t/memories\n"
            "3K\t/memories/a/\n"
            "1.5K\t/memories/a/x/\n"
            "1.5K\t/memories/a/y\n"
            "1.5K\t/memories/b.md"
        )
        assert do(tool, "view", "/memories/a").splitlines()[1:] == [
            "3K\t/memories/a",
            "1.5K\t/memories/a/x/",
            "1.5K\t/memories/a/x/deep",
            "1.5K\t/memories/a/y",
        ]

    def test_an_empty_memory_has_its_directory(self, tool):
        assert do(tool, "view", "/memories").splitlines()[1:] == ["0B\t/memories"]

    def test_a_slash_at_the_end_is_not_doubled(self, tool):
        do(tool, "create", "/memories/a/b", file_text="x")
        for path in ("/memories/", "/memories/a/"):
            assert do(tool, "view", path) == do(tool, "view", path[:-1])
            assert "//" not in do(tool, "view", path)

    @pytest.mark.parametrize(
        ("size", "shown"),
        [
            (0, "0B"),
            (1, "1B"),
            (1023, "1023B"),
            (1024, "1K"),
            (1025, "1.0K"),
            (5632, "5.5K"),
            (1024**2 - 1, "1024.0K"),
            (1024**2, "1M"),
        ],
    )
    def test_sizes_are_as_people_read_them(self, tool, settings, size, shown):
        settings.AGENT_MEMORY_MAX_BODY_LENGTH = 2_000_000
        tool.files.memory.remember("a", None, "x" * size)
        assert do(tool, "view", "/memories").splitlines()[-1] == f"{shown}\t/memories/a"

    def test_a_file_is_shown_with_numbers(self, tool):
        do(tool, "create", "/memories/a", file_text="one\ntwo\n\nfour")
        assert do(tool, "view", "/memories/a") == (
            "Here's the content of /memories/a with line numbers:\n"
            "     1\tone\n     2\ttwo\n     3\t\n     4\tfour"
        )

    @pytest.mark.parametrize(
        ("view_range", "numbers"),
        [([2, 3], [2, 3]), ([3, -1], [3, 4]), ([0, 1], [1]), ([4, 9], [4]), ([1, 4], [1, 2, 3, 4])],
    )
    def test_a_range_of_lines_can_be_asked_for(self, tool, view_range, numbers):
        do(tool, "create", "/memories/a", file_text="1\n2\n3\n4")
        shown = do(tool, "view", "/memories/a", view_range=view_range).splitlines()[1:]
        assert shown == [f"{number:>6}\t{number}" for number in numbers]

    @pytest.mark.parametrize(
        ("view_range", "said"),
        [
            ([1], "Invalid `view_range`. It should be a list of two integers."),
            ("1-2", "Invalid `view_range`. It should be a list of two integers."),
            ([1, True], "Invalid `view_range`. It should be a list of two integers."),
            (
                [5, -1],
                "Invalid `view_range`: [5, -1]. Its first element `5` should be within the range "
                "of lines of the file: [1, 4]",
            ),
            (
                [3, 2],
                "Invalid `view_range`: [3, 2]. Its second element `2` should be larger or equal "
                "than its first `3`",
            ),
        ],
    )
    def test_a_wrong_range_is_refused(self, tool, view_range, said):
        do(tool, "create", "/memories/a", file_text="1\n2\n3\n4")
        assert refused(tool, "view", "/memories/a", view_range=view_range) == said

    def test_a_file_of_more_lines_than_have_numbers_is_refused(self, tool):
        do(tool, "create", "/memories/a", file_text="\n" * 999_998)
        do(tool, "create", "/memories/b", file_text="\n" * 999_999)
        assert do(tool, "view", "/memories/a", view_range=[999_999, -1])[-7:] == "999999\t"
        assert refused(tool, "view", "/memories/b") == (
            "File /memories/b exceeds maximum line limit of 999,999 lines."
        )

    @pytest.mark.parametrize("more", [-1, 0, 1])
    def test_a_long_file_is_cut_with_what_to_ask_for(self, tool, more):
        head = len("Here's the content of /memories/a with line numbers:")
        full = LONGEST_VIEW - head - 100 * len("\n     1\t") + more
        text = "\n".join(["x" * 100] * 99 + ["y" * (full - 9_900)])
        do(tool, "create", "/memories/a", file_text=text)
        shown = do(tool, "view", "/memories/a")
        if more <= 0:
            assert len(shown) == LONGEST_VIEW + more
            assert shown.endswith("y")
            return
        assert len(shown) <= LONGEST_VIEW
        assert shown.splitlines()[-2:] == [
            f"    99\t{'x' * 100}",
            "[The view is cut here; for the lines after it ask for view_range [100, 100].]",
        ]
        rest = do(tool, "view", "/memories/a", view_range=[100, 100])
        assert rest.splitlines()[1].strip("y") == "   100\t"

    def test_a_line_longer_than_a_view_is_cut_too(self, tool):
        do(tool, "create", "/memories/a", file_text="x" * 20_000 + "\nnext")
        shown = do(tool, "view", "/memories/a")
        assert len(shown) <= LONGEST_VIEW
        assert shown.splitlines()[-1] == (
            "[Line 1 is longer than a view and is cut; "
            "for the lines after it ask for view_range [2, 2].]"
        )
        assert "next" in do(tool, "view", "/memories/a", view_range=[2, 2])

    def test_every_entry_of_a_long_listing_can_be_reached(self, tool):
        memory = tool.files.memory
        for number in range(700):
            memory.remember(f"{number:03}-{'n' * 40}", None, "x")
        seen: list[str] = []
        following: Any = None
        while True:
            header, *lines = do(tool, "view", "/memories", view_range=following).splitlines()
            assert len("\n".join([header, *lines])) <= LONGEST_VIEW
            seen += [line for line in lines if "\t" in line]
            if "\t" in lines[-1]:
                break
            following = [int(part) for part in lines[-1].rpartition("[")[2][:-3].split(", ")]
        assert len(seen) == 701

    def test_json_is_shown_as_its_text(self, tool):
        tool.files.memory.remember("a", None, {"b": [1, None]})
        assert do(tool, "view", "/memories/a").splitlines()[1] == '     1\t{"b":[1,null]}'
        assert do(tool, "view", "/memories").splitlines()[2] == "14B\t/memories/a"

    def test_sizes_are_those_of_what_a_view_shows(self, tool):
        tool.files.memory.remember("a", None, ["x"])
        # As raw SQL may put it there.
        Note.objects.update(body='[ "é" ]')
        assert do(tool, "view", "/memories/a").splitlines()[1] == '     1\t[ "é" ]'
        assert do(tool, "view", "/memories").splitlines()[2] == "8B\t/memories/a"

    @pytest.mark.parametrize("path", ["/memories", "/memories/", "/memories/d/"])
    def test_a_listing_reads_no_body(self, tool, path):
        for key in ("d/a", "d/b/c", "e"):
            tool.files.memory.remember(key, "s", "x" * 2000)
        with CaptureQueriesContext(connection) as sent:
            do(tool, "view", path)
        (sql,) = (query["sql"] for query in sent)
        assert len(re.findall("body", sql)) == len(re.findall(r"LENGTH\([^)]*body", sql)) == 1
        with CaptureQueriesContext(connection) as sent:
            do(tool, "view", "/memories/d")  # which may be a file
        assert len(sent) == 2

    @pytest.mark.parametrize("path", ["/memories/none", "/memories/none/", "/memories/a/b"])
    def test_what_is_not_there(self, tool, path):
        do(tool, "create", "/memories/a", file_text="x")
        assert refused(tool, "view", path) == GONE.format(path.removesuffix("/"))

    def test_keys_that_no_path_names_are_not_listed(self, tool):
        for key in ("a//b", "/c", "d/", "../e", "f\ng", "h\\i", "%2e%2e/j", "k"):
            tool.files.memory.remember(key, None, "x")
        assert do(tool, "view", "/memories").splitlines()[1:] == [
            "1B\t/memories",
            "1B\t/memories/k",
        ]


class TestCreate:
    def test_a_new_file(self, tool):
        said = do(tool, "create", "/memories/team/a.md", file_text="\n  # Title \nrest")
        assert said == "File created successfully at: /memories/team/a.md"
        note = tool.files.memory.recall("team/a.md")
        assert (note.body, note.summary) == ("\n  # Title \nrest", "# Title")

    def test_what_is_overwritten_stays_a_revision(self, tool):
        do(tool, "create", "/memories/a", file_text="old")
        do(tool, "create", "/memories/a", file_text="new")
        assert [line.body for line in tool.files.memory.history("a")] == ["old", "new"]
        assert tool.files.memory.recall("a").summary == "new"

    def test_not_over_a_directory(self, tool):
        do(tool, "create", "/memories/a/b", file_text="x")
        for path in ("/memories/a", "/memories/a/", "/memories", "/memories/"):
            assert refused(tool, "create", path, file_text="x") == (
                f"The path {path.rstrip('/')} is a directory; give a file in it."
            )

    def test_limits_are_those_of_the_memory(self, tool, settings):
        settings.AGENT_MEMORY_MAX_BODY_LENGTH = 10
        do(tool, "create", "/memories/a", file_text="x" * 10)
        assert "the limit is 10" in refused(tool, "create", "/memories/b", file_text="x" * 11)
        do(tool, "create", f"/memories/{'k' * 512}", file_text="x")
        assert "the limit is 512" in refused(
            tool, "create", f"/memories/{'k' * 513}", file_text="x"
        )
        assert do(tool, "delete", f"/memories/{'k' * 512}").startswith("Successfully")
        assert "not exist" in refused(tool, "view", f"/memories/{'k' * 512}")


class TestStrReplace:
    def test_the_change_is_shown_with_the_lines_around_it(self, tool):
        do(tool, "create", "/memories/a", file_text="1\n2\n3\nfour\n5\n6\n7")
        said = do(tool, "str_replace", "/memories/a", old_str="four", new_str="4\n4b")
        assert said == (
            "The memory file has been edited. Here is the snippet showing the change "
            "(with line numbers):\n"
            "     2\t2\n     3\t3\n     4\t4\n     5\t4b\n     6\t5"
        )
        assert tool.files.memory.recall("a").body == "1\n2\n3\n4\n4b\n5\n6\n7"

    @pytest.mark.parametrize("given", [{}, {"new_str": None}, {"new_str": ""}])
    def test_without_a_new_text_the_old_one_is_removed(self, tool, given):
        do(tool, "create", "/memories/a", file_text="keep drop")
        do(tool, "str_replace", "/memories/a", old_str=" drop", **given)
        assert tool.files.memory.recall("a").body == "keep"

    def test_a_text_that_is_not_there(self, tool):
        do(tool, "create", "/memories/a", file_text="x")
        assert refused(tool, "str_replace", "/memories/a", old_str="X", new_str="") == (
            "No replacement was performed, old_str `X` did not appear verbatim in /memories/a."
        )

    def test_a_text_that_is_there_more_than_once(self, tool):
        do(tool, "create", "/memories/a", file_text="x\ny\nx x")
        assert refused(tool, "str_replace", "/memories/a", old_str="x", new_str="") == (
            "No replacement was performed. Multiple occurrences of old_str `x` in lines: 1, 3, 3. "
            "Please ensure it is unique"
        )
        do(tool, "create", "/memories/a", file_text="aaa")
        assert "unique" in refused(tool, "str_replace", "/memories/a", old_str="aa", new_str="")

    @pytest.mark.parametrize("path", ["/memories/none", "/memories/dir", "/memories/dir/"])
    def test_what_is_no_file(self, tool, path):
        do(tool, "create", "/memories/dir/b", file_text="x")
        said = refused(tool, "str_replace", path, old_str="x", new_str="y")
        assert said == GONE.format(path.removesuffix("/"))
        said = refused(tool, "insert", path, insert_line=0, insert_text="y")
        assert said == GONE.format(path.removesuffix("/"))

    def test_an_empty_old_text(self, tool):
        do(tool, "create", "/memories/a", file_text="x")
        assert "is empty" in refused(tool, "str_replace", "/memories/a", old_str="", new_str="y")


class TestInsert:
    @pytest.mark.parametrize(
        ("line", "text"),
        [(0, "new\n1\n2\n"), (1, "1\nnew\n2\n"), (2, "1\n2\nnew\n")],
    )
    @pytest.mark.parametrize("end", ["", "\n"])
    @pytest.mark.parametrize("new", ["new", "new\n"])
    def test_after_which_line(self, tool, line, text, end, new):
        do(tool, "create", "/memories/a", file_text=f"1\n2{end}")
        said = do(tool, "insert", "/memories/a", insert_line=line, insert_text=new)
        assert said == "The file /memories/a has been edited."
        assert tool.files.memory.recall("a").body == text

    @pytest.mark.parametrize("line", [-1, 3, None, True, "1"])
    def test_a_line_that_is_not_there(self, tool, line):
        do(tool, "create", "/memories/a", file_text="1\n2")
        said = refused(tool, "insert", "/memories/a", insert_line=line, insert_text="x")
        assert said == (
            f"Invalid `insert_line` parameter: {line}. "
            "It should be within the range of lines of the file: [0, 2]"
        )

    def test_into_an_empty_file(self, tool):
        do(tool, "create", "/memories/a", file_text="")
        do(tool, "insert", "/memories/a", insert_line=0, insert_text="first")
        assert tool.files.memory.recall("a").body == "first\n"
        assert tool.files.memory.recall("a").summary == "first"


class TestDelete:
    def test_a_file(self, tool):
        do(tool, "create", "/memories/a", file_text="x")
        assert do(tool, "delete", "/memories/a") == "Successfully deleted /memories/a"
        assert tool.files.memory.keys() == ()

    @pytest.mark.parametrize("path", ["/memories/a", "/memories/a/"])
    def test_a_directory_goes_whole_and_nothing_else(self, tool, path):
        for key in ("a/1", "a/2/3", "a/.hidden", "ab", "A/1"):
            tool.files.memory.remember(key, None, "x")
        assert do(tool, "delete", path) == "Successfully deleted /memories/a"
        assert tool.files.memory.keys() == ("A/1", "ab")

    def test_a_file_that_stands_where_a_directory_does(self, tool):
        for key in ("a", "a/1"):
            tool.files.memory.remember(key, None, "x")
        do(tool, "delete", "/memories/a")
        assert tool.files.memory.keys() == ("a/1",)
        tool.files.memory.remember("a", None, "x")
        do(tool, "delete", "/memories/a/")
        assert tool.files.memory.keys() == ("a",)

    def test_what_is_not_there(self, tool):
        said = refused(tool, "delete", "/memories/none")
        assert said == "The path /memories/none does not exist"

    @pytest.mark.parametrize("path", ["/memories", "/memories/"])
    def test_not_the_root(self, tool, path):
        assert refused(tool, "delete", path) == "Cannot delete the /memories directory itself"

    def test_clearing_keeps_the_history(self, tool):
        do(tool, "create", "/memories/a", file_text="x")
        assert tool.clear_all_memory() == "All memory cleared"
        assert tool.files.memory.keys() == ()
        assert tool.files.memory.as_of("a", 1).body == "x"


class TestRename:
    def test_a_file_keeps_all_that_is_known_of_it(self, tool):
        memory = tool.files.memory
        memory.remember("a", "Mine", {"x": 1}, kind="fact", weight=3, context=["c"], slot="s")
        said = do(tool, "rename", old_path="/memories/a", new_path="/memories/b/c")
        assert said == "Successfully renamed /memories/a to /memories/b/c"
        note = memory.recall("b/c")
        assert (note.body, note.summary, note.kind) == ({"x": 1}, "Mine", "fact")
        assert (note.weight, note.contexts, note.slot) == (3, ("c",), "s")
        assert memory.keys() == ("b/c",)

    def test_a_directory_moves_whole(self, tool):
        memory = tool.files.memory
        for key in ("a/1", "a/2/3", "ab"):
            memory.remember(key, f"Summary of {key}", key)
        do(tool, "rename", old_path="/memories/a", new_path="/memories/z/y")
        assert memory.items() == (("ab", "ab"), ("z/y/1", "a/1"), ("z/y/2/3", "a/2/3"))
        assert memory.recall("z/y/1").summary == "Summary of a/1"

    def test_a_directory_of_which_one_key_would_be_too_long_stays_whole(self, tool):
        memory = tool.files.memory
        for key in ("a/1", f"a/{'k' * 510}"):
            memory.remember(key, None, "x")
        said = refused(tool, "rename", old_path="/memories/a", new_path="/memories/aa")
        assert "the limit is 512" in said

    @pytest.mark.parametrize("new", ["/memories/b", "/memories/d", "/memories/d/", "/memories"])
    def test_not_over_what_is_there(self, tool, new):
        for key in ("a", "b", "d/e"):
            tool.files.memory.remember(key, None, "x")
        said = refused(tool, "rename", old_path="/memories/a", new_path=new)
        assert said == f"The destination {new.removesuffix('/')} already exists"

    @pytest.mark.parametrize(
        ("old", "new", "said"),
        [
            ("/memories/none", "/memories/b", "The path /memories/none does not exist"),
            ("/memories", "/memories/b", "Cannot rename the /memories directory itself"),
            (
                "/memories/d",
                "/memories/d/f",
                "Cannot move the directory /memories/d into itself",
            ),
            (
                "/memories/a",
                "/memories/f/",
                "/memories/a is a file; give its new path without a slash at the end",
            ),
        ],
    )
    def test_what_cannot_be_moved(self, tool, old, new, said):
        for key in ("a", "d/e"):
            tool.files.memory.remember(key, None, "x")
        assert refused(tool, "rename", old_path=old, new_path=new) == said


class TestSummaries:
    def test_one_that_somebody_wrote_survives_edits(self, tool):
        memory = tool.files.memory
        memory.remember("a", "Written by hand", "one")
        do(tool, "str_replace", "/memories/a", old_str="one", new_str="two")
        do(tool, "insert", "/memories/a", insert_line=0, insert_text="zero")
        do(tool, "create", "/memories/a", file_text="three")
        assert memory.recall("a").summary == "Written by hand"

    def test_otherwise_it_is_the_first_line_with_anything_in_it(self, tool):
        memory = tool.files.memory
        do(tool, "create", "/memories/a", file_text="\n \none\n")
        assert memory.recall("a").summary == "one"
        do(tool, "str_replace", "/memories/a", old_str="one", new_str="two")
        assert memory.recall("a").summary == "two"
        do(tool, "insert", "/memories/a", insert_line=0, insert_text="zero")
        assert memory.index_note() == "[memory index]\n- a: zero"

    def test_a_note_without_one_stays_out_of_the_index(self, tool):
        memory = tool.files.memory
        memory.remember("a", None, "one")
        do(tool, "str_replace", "/memories/a", old_str="one", new_str="two")
        assert memory.index_note() == ""

    @pytest.mark.parametrize("more", [-1, 0, 1])
    def test_a_long_line_is_cut_at_the_limit(self, tool, settings, more):
        settings.AGENT_MEMORY_MAX_SUMMARY_LENGTH = 20
        do(tool, "create", "/memories/a", file_text="x" * (20 + more))
        assert tool.files.memory.recall("a").summary == "x" * min(20 + more, 20)

    def test_what_else_is_known_stays(self, tool):
        memory = tool.files.memory
        memory.remember("a", "Mine", "one", kind="fact", weight=2, context=["c"])
        do(tool, "create", "/memories/a", file_text="two")
        note = memory.recall("a")
        assert (note.kind, note.weight, note.contexts) == ("fact", 2, ("c",))


class TestJson:
    def test_it_stays_json_while_it_is(self, tool):
        tool.files.memory.remember("a", None, {"n": 1})
        do(tool, "str_replace", "/memories/a", old_str="1", new_str="2")
        assert tool.files.memory.recall("a").body == {"n": 2}
        do(tool, "create", "/memories/a", file_text='{"n": [3]}')
        assert tool.files.memory.recall("a").body == {"n": [3]}

    @pytest.mark.parametrize("text", ["{", "NaN", "[" * 101 + "]" * 101])
    def test_and_is_text_when_it_is_not(self, tool, text):
        tool.files.memory.remember("a", None, {"n": 1})
        do(tool, "create", "/memories/a", file_text=text)
        assert tool.files.memory.recall("a").body == text

    def test_text_that_looks_like_it_stays_text(self, tool):
        do(tool, "create", "/memories/a", file_text='{"n":1}')
        do(tool, "str_replace", "/memories/a", old_str="1", new_str="2")
        assert tool.files.memory.recall("a").body == '{"n":2}'


OUTSIDE = [
    "",
    "/",
    "a",
    "memories/a",
    "/memory/a",
    "/memoriesX/foo",
    "/memories../a",
    "/memories\\a",
    "/Memories/a",
    " /memories/a",
    "/memories/..",
    "/memories/../a",
    "/memories/a/../../etc/passwd",
    "/memories/a/..",
    "/memories/./a",
    "/memories/a/.",
    "/memories//a",
    "//memories/a",
    "/memories/a//b",
    "/memories//",
    "/memories/a//",
    "/memories/%2e%2e/a",
    "/memories/..%2fa",
    "/memories/%2E./a",
    "/memories/a%5cb",
    "/memories/..\\a",
    "/memories/a\x00b",
    "/memories/a\nb",
    "/memories/a\tb",
    "/memories/a\x1bb",
    "/memories/\ud800",
    None,
    5,
    ["/memories/a"],
    {"path": "/memories/a"},
]


@pytest.mark.parametrize("path", OUTSIDE, ids=ascii)
def test_no_form_of_a_path_leads_outside(tool, path):
    do(tool, "create", "/memories/a", file_text="x")
    for command, arguments in {
        "view": {},
        "create": {"file_text": "x"},
        "str_replace": {"old_str": "x", "new_str": "y"},
        "insert": {"insert_line": 0, "insert_text": "y"},
        "delete": {},
    }.items():
        assert len(refused(tool, command, **{"path": path, **arguments})) < 300
    refused(tool, "rename", old_path=path, new_path="/memories/b")
    refused(tool, "rename", old_path="/memories/a", new_path=path)


@pytest.mark.parametrize(
    "path", ["/memories/a b", "/memories/é.md", "/memories/..a", "/memories/100%"]
)
def test_unusual_names_are_names(tool, path):
    do(tool, "create", path, file_text="x")
    assert tool.files.memory.keys() == (path.removeprefix("/memories/"),)
    assert do(tool, "view", path).endswith("x")


@pytest.mark.parametrize(
    "given",
    [
        {},
        None,
        "view",
        ["view"],
        5,
        {"command": None},
        {"command": "nope"},
        {"command": ["view"]},
        {"command": "view"},
        {"command": "create", "path": "/memories/b"},
        {"command": "create", "path": "/memories/b", "file_text": None},
        {"command": "create", "path": "/memories/b", "file_text": 5},
        {"command": "create", "path": "/memories/b", "file_text": "a\x00"},
        {"command": "create", "path": "/memories/b", "file_text": "\ud800"},
        {"command": "str_replace", "path": "/memories/a"},
        {"command": "str_replace", "path": "/memories/a", "old_str": "x", "new_str": 5},
        {"command": "str_replace", "path": "/memories/a", "old_str": "x", "new_str": "\x00"},
        {"command": "insert", "path": "/memories/a", "insert_line": 0},
        {"command": "rename", "old_path": "/memories/a"},
        {"command": "rename", "new_path": "/memories/a"},
    ],
    ids=ascii,
)
def test_whatever_a_model_sends_it_gets_one_sentence(tool, given):
    do(tool, "create", "/memories/a", file_text="x")
    with pytest.raises(ToolError) as caught:
        tool.call(given)
    assert 0 < len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)
    assert tool.files.memory.revision() == 1


def test_a_read_only_memory_is_only_read(memory):
    memory.remember("a", None, "x")
    tool = MemoryTool(Memory("core", read_only=True))
    assert do(tool, "view", "/memories/a").endswith("x")
    said = refused(tool, "create", "/memories/b", file_text="x")
    assert said == "This memory is read-only; nothing was written."


def test_what_a_session_has_to_itself_stays_its_own(memory):
    private = Memory("core", session="s")
    private.remember("a", None, "x", persist=False)
    tool = MemoryTool(private)
    do(tool, "str_replace", "/memories/a", old_str="x", new_str="y")
    do(tool, "rename", old_path="/memories/a", new_path="/memories/b")
    assert private.recall("b").session == "s"
    assert memory.recall("b") is None
    assert do(MemoryTool(memory), "view", "/memories").splitlines()[1:] == ["0B\t/memories"]


def test_an_edit_is_signed(tool):
    do(tool, "create", "/memories/a", file_text="x")
    (revised,) = tool.files.memory.history("a")
    assert revised.actor == "scribe"


@pytest.mark.parametrize(
    ("command", "arguments", "queries"),
    [
        ("view", {"path": "/memories/d/f"}, 1),
        ("view", {"path": "/memories"}, 1),
        ("view", {"path": "/memories/d"}, 2),
    ],
)
def test_a_view_is_one_query_for_each_thing_the_path_may_be(
    tool, django_assert_num_queries, settings, command, arguments, queries
):
    settings.AGENT_MEMORY_USAGE_SECONDS = None
    for number in range(5):
        do(tool, "create", f"/memories/d/{number}", file_text="x")
    do(tool, "create", "/memories/d/f", file_text="x")
    with django_assert_num_queries(queries):
        do(tool, command, **arguments)


@pytest.mark.parametrize("count", [2, 20])
def test_a_directory_moves_in_a_fixed_number_of_queries(
    tool, django_assert_max_num_queries, settings, count
):
    settings.AGENT_MEMORY_USAGE_SECONDS = None
    for number in range(count):
        do(tool, "create", f"/memories/d/{number}", file_text="x")
    with django_assert_max_num_queries(40):
        do(tool, "rename", old_path="/memories/d", new_path="/memories/e")
    assert len(tool.files.memory.keys("e/")) == count


class TestKeysThatNoPathNames:
    """Other surfaces take keys that are no paths: this tool leaves them alone."""

    KEYS = ("team//plan", "v/../w", "v/./w", "d/", "e/a\nb", "p/100%2f")

    @pytest.fixture
    def others(self, memory: Memory) -> Memory:
        for key in self.KEYS:
            memory.remember(key, "s", "keep me")
        return memory

    @pytest.mark.parametrize("name", ["team", "v", "d", "e", "p"])
    def test_they_make_no_directory(self, others: Memory, tool: MemoryTool, name: str) -> None:
        path = f"/memories/{name}"
        for command in (
            {"command": "view", "path": path},
            {"command": "delete", "path": path},
            {"command": "rename", "old_path": path, "new_path": "/memories/new"},
        ):
            with pytest.raises(ToolError, match="does not exist"):
                tool.call(command)
        assert others.keys() == tuple(sorted(self.KEYS))

    def test_they_stay_where_files_beside_them_go(self, others: Memory, tool: MemoryTool) -> None:
        others.remember("team/a", "s", "b")
        others.remember("v/b", "s", "b")
        tool.call({"command": "delete", "path": "/memories/team"})
        tool.call({"command": "rename", "old_path": "/memories/v", "new_path": "/memories/v2"})
        assert others.keys() == tuple(sorted((*self.KEYS, "v2/b")))

    @pytest.mark.parametrize("text", ["\x00", "\ud800"])
    def test_what_cannot_be_stored_is_called_what_the_model_calls_it(self, tool, text) -> None:
        assert refused(tool, "create", "/memories/a", file_text=text).startswith("The file_text ")
