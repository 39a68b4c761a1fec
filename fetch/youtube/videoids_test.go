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
		{"wrong shapes", a + "x\n" + a[1:] + "\n" + a + "\nda$h4w9WgXc\nd\x00w4w9WgXcQ\nhttps://example.com/watch?v=" + a + "\n", []string{a}, 0, []int{1, 2, 4, 5, 6}},
		{"a table", "video_id,title\r\n\"" + a + "\",\"one, two\"\r\n" + b + ";three\r\n'" + a + "'\tfour", []string{a, b}, 1, nil},
		{"an export for spreadsheets", "video_id,title\r\n'" + b + ",\"it's\"\r\n" + a + ",'one'\r\n'" + b + "'\r\n", []string{b, a}, 1, nil},
		{"a line without an end", strings.Repeat("x", 1<<20) + "\n" + a + "\n", []string{a}, 0, []int{1}},
		{"a comment without an end", "#" + strings.Repeat("x", 1<<20) + "\n" + a, []string{a}, 0, []int{1}},
		{"not UTF-8", "\xfa\xfb\xfd\n" + a, []string{a}, 0, []int{1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var wrong []int
			l, err := youtube.ReadIDs(strings.NewReader(c.text), func(line int, text, why string) error {
				wrong = append(wrong, line)
				if len(text) > 160 || strings.Contains(text, "\n") || why == "" {
					t.Errorf("line %d is shown as %q, %q", line, text, why)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for chunk := range l.Chunks(2) {
				ids = append(ids, chunk...)
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
	l, err := youtube.ReadIDs(bytes.NewReader(text), func(int, string, string) error { return nil })
	if err != nil || len(l.IDs) != different || l.Repeated != lines-different || cap(l.IDs) > 2<<20 {
		t.Fatalf("%d ids in room for %d, %d repeated, %v", len(l.IDs), cap(l.IDs), l.Repeated, err)
	}
	for i, id := range l.IDs {
		if string(id[:]) != fmt.Sprintf("%011d", i) {
			t.Fatalf("id %d is %s", i, id)
		}
	}
}

// People have ids in many forms.
func TestAVideoIsReadInEveryForm(t *testing.T) {
	const id = "dQw4w9WgXcQ"
	for _, form := range []string{
		id, " " + id + " ", "https://www.youtube.com/watch?v=" + id, "http://youtube.com/watch?feature=share&v=" + id + "&t=42s", "youtube.com/watch?v=" + id,
		"https://m.youtube.com/watch?v=" + id + "#comments", "https://music.youtube.com/watch?v=" + id + "&list=RD", "https://youtu.be/" + id + "?si=abc", "youtu.be/" + id,
		"https://www.youtube.com/shorts/" + id, "https://www.youtube.com/live/" + id + "?feature=share", "https://www.youtube.com/embed/" + id,
		"https://www.youtube-nocookie.com/embed/" + id + "?rel=0", "//www.youtube.com/v/" + id, "https://i.ytimg.com/vi/" + id + "/hqdefault.jpg",
		"https://www.youtube.com/attribution_link?a=x&u=%2Fwatch%3Fv%3D" + id + "%26feature%3Dshare", "HTTPS://WWW.YOUTUBE.COM/watch?v=" + id,
	} {
		if got, why := youtube.ParseVideo(form); got != id || why != "" {
			t.Errorf("%s is read as %q: %s, want %v and \"\"", form, got, why, id)
		}
	}
	for _, form := range []string{
		"", "short", id + "x", "https://youtu.be/", "https://youtu.be/" + id + "x", "https://www.youtube.com/@name", "https://www.youtube.com/watch?v=",
		"https://example.com/watch?v=" + id, "https://notyoutube.com/watch?v=" + id, "https://www.youtube.com/playlist?list=PL" + id, "da$h4w9WgXc", "://" + id,
	} {
		if got, why := youtube.ParseVideo(form); got != "" || why == "" {
			t.Errorf("%s is read as %q", form, got)
		}
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
	l, err := youtube.ReadIDs(&manyIDs{n: million}, nil)
	if err != nil || len(l.IDs) != million {
		t.Fatalf("%d ids, %v, want %v", len(l.IDs), err, million)
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
		l, err := youtube.ReadIDs(bytes.NewReader(data), func(int, string, string) error { return nil })
		if err != nil {
			if !strings.Contains(err.Error(), "does not end: add the closing quote") {
				t.Fatal(err)
			}
			return
		}
		seen := map[youtube.VideoID]bool{}
		for _, id := range l.IDs {
			if !shape.Match(id[:]) || seen[id] {
				t.Errorf("%q, want a new id of YouTube's form", id)
			}
			seen[id] = true
		}
		if lines := len(data) + 1; len(l.IDs)+l.Repeated+l.Wrong > lines {
			t.Errorf("%d ids, %d repeated, %d wrong in %d bytes", len(l.IDs), l.Repeated, l.Wrong, lines)
		}
	})
}
