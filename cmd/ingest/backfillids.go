package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"

	"github.com/trendvidstream/ingest/internal/term"
)

const (
	idLength = 11        // characters of a video's id
	mostIDs  = 5_000_000 // of one backfill: what is read is held, 11 bytes an id

	// rejectedShown is how many lines of the wrong shape are kept to be shown; the others are counted.
	rejectedShown = 20
	// longestShown cuts a line of the wrong shape, in bytes.
	longestShown = 40
)

// videoID is the id of a video: 11 characters of base64url. https://developers.google.com/youtube/v3/docs/videos#id
// calls it a string; every id seen has this shape, and a call with another one is a call wasted.
type videoID [idLength]byte

func parseVideoID(s []byte) (id videoID, ok bool) {
	if len(s) != idLength {
		return id, false
	}
	for _, c := range s {
		if !isWordByte(c) {
			return id, false
		}
	}
	copy(id[:], s)
	return id, true
}

// isWordByte reports whether c is of the alphabet of ids: base64url.
func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// idList is ids in the order in which they were first read.
type idList struct {
	ids      []videoID
	repeated int            // ids that had been read before
	wrong    int            // lines that hold no id
	rejected []rejectedLine // the first of those
}

// rejectedLine is a line that was left out.
type rejectedLine struct {
	Line int    `json:"line"` // from 1
	Text string `json:"text"` // cut, and safe for a terminal
}

// readIDs reads one id a line. Empty lines, and those that begin with #, say nothing; a line of another
// shape is noted and left out. Memory grows with the number of different ids and with nothing else.
func readIDs(r io.Reader) (*idList, error) {
	l := &idList{}
	squeezeAt := 1 << 20
	lines := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		line, long, err := readLine(lines)
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return nil, fmt.Errorf("read the ids, line %d: %w", n, err)
		}
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		line = bytes.TrimSpace(line)
		id, ok := parseVideoID(line)
		switch {
		case !long && (len(line) == 0 || line[0] == '#'):
		case long || !ok:
			l.reject(n, line)
		default:
			l.ids = append(l.ids, id)
		}
		if last || len(l.ids) == squeezeAt {
			l.squeeze()
			squeezeAt = max(squeezeAt, 2*len(l.ids))
		}
		if len(l.ids) > mostIDs && (last || squeezeAt > 2*mostIDs) {
			return nil, fmt.Errorf("more than %s different ids: plan them in several backfills", term.Thousands(mostIDs))
		}
		if last {
			return l, nil
		}
	}
}

// squeeze drops ids that came before. They are sorted by their places, which takes a third of the memory of
// a set of them.
func (l *idList) squeeze() {
	places := make([]int32, len(l.ids))
	for i := range places {
		places[i] = int32(i) // at most 2 * mostIDs
	}
	slices.SortFunc(places, func(a, b int32) int {
		return cmp.Or(bytes.Compare(l.ids[a][:], l.ids[b][:]), cmp.Compare(a, b))
	})
	again := make([]bool, len(l.ids))
	for i := 1; i < len(places); i++ {
		again[places[i]] = l.ids[places[i]] == l.ids[places[i-1]]
	}
	kept := 0
	for i, id := range l.ids {
		if !again[i] {
			l.ids[kept] = id
			kept++
		}
	}
	l.repeated += len(l.ids) - kept
	l.ids = l.ids[:kept]
}

// readLine reads a line. Of one that is longer than the reader's buffer it returns the beginning, and the
// rest is gone. The line is valid until the next read.
func readLine(r *bufio.Reader) (line []byte, long bool, err error) {
	line, err = r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, false, err
	}
	line = bytes.Clone(line[:4*longestShown])
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = r.ReadSlice('\n')
	}
	return line, true, err
}

func (l *idList) reject(n int, line []byte) {
	l.wrong++
	if len(l.rejected) < rejectedShown {
		l.rejected = append(l.rejected, rejectedLine{n, term.Fit(string(line), longestShown)})
	}
}

// chunks is the ids, so many at a time.
func (l *idList) chunks(size int) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for from := 0; from < len(l.ids); from += size {
			var chunk []string
			for _, id := range l.ids[from:min(from+size, len(l.ids))] {
				chunk = append(chunk, string(id[:]))
			}
			if !yield(chunk) {
				return
			}
		}
	}
}

// openIDs opens a file of ids, or standard input for "-".
func openIDs(path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(os.Stdin), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, usageError{fmt.Errorf("read the ids: %w: name a file with one id a line, or - for standard input", err)}
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		_ = f.Close()
		return nil, usageError{fmt.Errorf("read the ids: %s is a directory: name a file with one id a line", path)}
	}
	return f, nil
}
