package youtube_test

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/fetch/youtube"
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
			l, err := youtube.ReadIDs(strings.NewReader(c.text))
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for chunk := range l.Chunks(2) {
				ids = append(ids, chunk...)
			}
			var wrong []int
			for _, r := range l.Rejected {
				wrong = append(wrong, r.Line)
				if len(r.Text) > 160 || strings.Contains(r.Text, "\n") {
					t.Errorf("line %d is shown as %q", r.Line, r.Text)
				}
			}
			if !slices.Equal(ids, c.ids) || l.Repeated != c.repeated || !slices.Equal(wrong, c.wrong) || l.Wrong != len(c.wrong) {
				t.Errorf("ids %q, %d repeated, wrong %v (%d)", ids, l.Repeated, wrong, l.Wrong)
			}
		})
	}
}

func TestRepeatedIDsTakeNoMemory(t *testing.T) {
	const lines, different = 3_000_000, 1000
	text := make([]byte, 0, lines*12)
	for i := range lines {
		text = fmt.Appendf(text, "%011d\n", i%different)
	}
	l, err := youtube.ReadIDs(bytes.NewReader(text))
	if err != nil || len(l.IDs) != different || l.Repeated != lines-different || cap(l.IDs) > 2<<20 {
		t.Fatalf("%d ids in room for %d, %d repeated, %v", len(l.IDs), cap(l.IDs), l.Repeated, err)
	}
	for i, id := range l.IDs {
		if string(id[:]) != fmt.Sprintf("%011d", i) {
			t.Fatalf("id %d is %s", i, id)
		}
	}
}

func TestOnlyTheFirstWrongLinesAreKept(t *testing.T) {
	l, err := youtube.ReadIDs(strings.NewReader(strings.Repeat("nonsense\n", 10_000)))
	if err != nil || l.Wrong != 10_000 || len(l.Rejected) != 20 {
		t.Errorf("%d wrong, %d kept, %v", l.Wrong, len(l.Rejected), err)
	}
}

// manyIDs reads as n ids, and takes no more memory than one of them.
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
	l, err := youtube.ReadIDs(&manyIDs{n: million})
	if err != nil || len(l.IDs) != million {
		t.Fatalf("%d ids, %v", len(l.IDs), err)
	}
	runtime.ReadMemStats(&after)
	held := (int64(after.HeapSys) - int64(before.HeapSys)) >> 20 // it may have shrunk
	if held > 100 {
		t.Errorf("%d MB, want at most 100 MB", held)
	}
}

// FuzzReadIDs: whatever is read, each result has the shape of an id and comes once, and every line is counted.
func FuzzReadIDs(f *testing.F) {
	shape := regexp.MustCompile(`^[-_0-9A-Za-z]{11}$`)
	f.Add([]byte("dQw4w9WgXcQ\n#\n\nx\r\ndQw4w9WgXcQ"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := youtube.ReadIDs(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		seen := map[youtube.VideoID]bool{}
		for _, id := range l.IDs {
			if !shape.Match(id[:]) || seen[id] {
				t.Errorf("%q", id)
			}
			seen[id] = true
		}
		if lines := bytes.Count(data, []byte("\n")) + 1; len(l.IDs)+l.Repeated+l.Wrong > lines {
			t.Errorf("%d ids, %d repeated, %d wrong in %d lines", len(l.IDs), l.Repeated, l.Wrong, lines)
		}
	})
}
