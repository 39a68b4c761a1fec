package main

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota/quotatest"
)

func TestIDsAreReadOnceEachAndWrongLinesAreNamed(t *testing.T) {
	const a, b = "dQw4w9WgXcQ", "-leading_da"
	for _, c := range []struct {
		name, text string
		ids        []string
		repeated   int
		wrong      []int
	}{
		{"nothing", "", nil, 0, nil},
		{"no end of line", a, []string{a}, 0, nil},
		{"in order, each once", b + "\n" + a + "\n" + b + "\n", []string{b, a}, 1, nil},
		{"Windows and a byte order mark", "\ufeff" + a + "\r\n" + b + "\r\n", []string{a, b}, 0, nil},
		{"comments, blanks and space around", "# mine\n\n  " + a + "\t\n", []string{a}, 0, nil},
		{"wrong shapes", a + "x\n" + a[1:] + "\n" + a + "\nhttps://youtu.be/" + a + "\nda$h4w9WgXc\nd\x00w4w9WgXcQ\n", []string{a}, 0, []int{1, 2, 4, 5, 6}},
		{"a line without an end", strings.Repeat("x", 1<<20) + "\n" + a + "\n", []string{a}, 0, []int{1}},
		{"a comment without an end", "#" + strings.Repeat("x", 1<<20) + "\n" + a, []string{a}, 0, []int{1}},
		{"not UTF-8", "\xff\xfe\xfd\n" + a, []string{a}, 0, []int{1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := readIDs(strings.NewReader(c.text))
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for chunk := range l.chunks(2) {
				ids = append(ids, chunk...)
			}
			var wrong []int
			for _, r := range l.rejected {
				wrong = append(wrong, r.Line)
				if len(r.Text) > longestShown+3 || strings.ContainsAny(r.Text, "\x00\n") {
					t.Errorf("line %d is shown as %q", r.Line, r.Text)
				}
			}
			if !slices.Equal(ids, c.ids) || l.repeated != c.repeated || !slices.Equal(wrong, c.wrong) || l.wrong != len(c.wrong) {
				t.Errorf("ids %q, %d repeated, wrong %v (%d)", ids, l.repeated, wrong, l.wrong)
			}
		})
	}
}

// Repeats take no memory, however many there are.
func TestRepeatedIDsAreSqueezedAsTheyCome(t *testing.T) {
	const lines, different = 3_000_000, 1000
	text := make([]byte, 0, lines*12)
	for i := range lines {
		text = fmt.Appendf(text, "%011d\n", i%different)
	}
	l, err := readIDs(bytes.NewReader(text))
	if err != nil || len(l.ids) != different || l.repeated != lines-different || cap(l.ids) > 2<<20 {
		t.Fatalf("%d ids in room for %d, %d repeated, %v", len(l.ids), cap(l.ids), l.repeated, err)
	}
	for i, id := range l.ids {
		if string(id[:]) != fmt.Sprintf("%011d", i) {
			t.Fatalf("id %d is %s", i, id)
		}
	}
}

func TestOnlyTheFirstWrongLinesAreKept(t *testing.T) {
	l, err := readIDs(strings.NewReader(strings.Repeat("nonsense\n", 10_000)))
	if err != nil || l.wrong != 10_000 || len(l.rejected) != rejectedShown {
		t.Errorf("%d wrong, %d kept, %v", l.wrong, len(l.rejected), err)
	}
}

// manyIDs is n ids and no more memory than one of them.
type manyIDs struct {
	next, n int
	rest    []byte
}

func (m *manyIDs) Read(p []byte) (int, error) {
	if len(m.rest) == 0 {
		if m.next == m.n {
			return 0, io.EOF
		}
		m.rest = fmt.Appendf(m.rest[:0], "%011d\n", m.next)
		m.next++
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

func TestAMillionIDsAreReadInBoundedMemory(t *testing.T) {
	const million = 1_000_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	l, err := readIDs(&manyIDs{n: million})
	took := time.Since(began)
	if err != nil || len(l.ids) != million {
		t.Fatalf("%d ids, %v", len(l.ids), err)
	}
	runtime.ReadMemStats(&after)
	held := (after.HeapSys - before.HeapSys) >> 20
	t.Logf("%d ids read in %v, %d MB more of heap", million, took.Round(time.Millisecond), held)
	if held > 100 || took > 2*time.Second && !quotatest.Raced {
		t.Errorf("%d MB in %v, want at most 100 MB in 2 s", held, took)
	}
}

func TestChannelsAreKnownByIDHandleAndURL(t *testing.T) {
	const id = "UC_x5XG1OV2P6uZZ5FSM9Ttw"
	for in, want := range map[string]string{
		id:                              id,
		" " + id + "\n":                 id,
		"@GoogleDevelopers":             "@googledevelopers",
		"@ünïcode-चैनल":                 "@ünïcode-चैनल",
		"https://www.youtube.com/@Name": "@name",
		"https://m.youtube.com/@name/videos?view=0": "@name",
		"youtube.com/@name/":                        "@name",
		"http://youtube.com/channel/" + id:          id,
		"www.youtube.com/channel/" + id + "/about":  id,
	} {
		if got, err := parseChannel(in); err != nil || got != want {
			t.Errorf("%q is %q, %v, want %q", in, got, err, want)
		}
	}
	for in, hint := range map[string]string{
		"":                                    "no channel",
		"name":                                "its @handle",
		"@ab":                                 "3 to 30",
		"@" + strings.Repeat("x", 31):         "3 to 30",
		"@a b c":                              "3 to 30",
		"@a\x1b[31m":                          "3 to 30",
		"@a/b/../c":                           "no handle",
		id[:23]:                               "22 more",
		id + "x":                              "22 more",
		id[:23] + "$":                         "22 more",
		"https://www.youtube.com/c/Name":      "old kind",
		"https://www.youtube.com/user/Name":   "old kind",
		"https://www.youtube.com/watch?v=abc": "no channel",
		"https://www.youtube.com/":            "no channel",
		"https://example.com/@name":           "no channel",
		"https://youtube.com.evil.net/@name":  "no channel",
		"javascript://youtube.com/@name":      "no channel",
	} {
		got, err := parseChannel(in)
		if err == nil || !strings.Contains(err.Error(), hint) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%q is %q, %v, want %q", in, got, err, hint)
		}
	}
}

func TestEveryWrongChannelIsNamedAndRepeatsAreOne(t *testing.T) {
	got, err := parseChannels([]string{"@Name", "youtube.com/@name", "@other"})
	if err != nil || !slices.Equal(got, []string{"@name", "@other"}) {
		t.Errorf("%q, %v", got, err)
	}
	_, err = parseChannels([]string{"one", "@fine", "two"})
	if exitCode(err) != exitUsage || !strings.Contains(err.Error(), "channel 1 of 3") || !strings.Contains(err.Error(), "channel 3 of 3") {
		t.Errorf("%v", err)
	}
}

// FuzzReadIDs: whatever is read, what comes out has the shape of ids, each once, and every line is counted.
func FuzzReadIDs(f *testing.F) {
	f.Add([]byte("dQw4w9WgXcQ\n#\n\nx\r\ndQw4w9WgXcQ"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := readIDs(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		seen := map[videoID]bool{}
		for _, id := range l.ids {
			if _, ok := parseVideoID(id[:]); !ok || seen[id] {
				t.Errorf("%q", id)
			}
			seen[id] = true
		}
		if lines := bytes.Count(data, []byte("\n")) + 1; len(l.ids)+l.repeated+l.wrong > lines {
			t.Errorf("%d ids, %d repeated, %d wrong in %d lines", len(l.ids), l.repeated, l.wrong, lines)
		}
	})
}
