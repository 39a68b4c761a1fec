package youtube

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"
)

// FirstVideo is a time before the first video of YouTube: https://www.youtube.com/watch?v=jNQXAC9IVRw is of 2005-04-24
// in UTC.
var FirstVideo = time.Date(2005, 4, 23, 0, 0, 0, 0, time.UTC)

// VideoID is the id of a video: 11 characters of base64url. https://developers.google.com/youtube/v3/docs/videos#id
// calls it a string; every id seen has this shape, and a call with another one would be wasted.
type VideoID [11]byte

func parseVideoID(s []byte) (id VideoID, ok bool) {
	ok = len(s) == len(id) && isBase64URL(s)
	copy(id[:], s)
	return id, ok
}

// isBase64URL reports whether s is written in the alphabet of ids.
func isBase64URL(s []byte) bool {
	return !slices.ContainsFunc(s, func(c byte) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_'
	})
}

const (
	maxIDs      = 5_000_000 // different ones in one list, which is held in memory
	maxRejected = 20        // lines that are kept to be shown; the others are only counted
	maxShown    = 160       // bytes of such a line that are kept
)

// IDList holds ids in the order in which they were first read.
type IDList struct {
	IDs      []VideoID
	Repeated int            // ids that had been read before
	Wrong    int            // lines that hold no id
	Rejected []RejectedLine // the first of those
}

// RejectedLine is a line that holds no id.
type RejectedLine struct {
	Line int    // from 1
	Text string // as it was read, cut: not safe for a terminal
}

// ReadIDs reads one id a line. Empty lines and those that begin with # are skipped; a line of another shape is noted
// and left out. Memory grows only with the number of different ids.
func ReadIDs(r io.Reader) (*IDList, error) {
	l, seen := &IDList{}, map[VideoID]struct{}{}
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
		_, repeated := seen[id]
		switch {
		case !long && (len(line) == 0 || line[0] == '#'):
		case long || !ok:
			l.reject(n, line)
		case repeated:
			l.Repeated++
		case len(seen) == maxIDs:
			return nil, fmt.Errorf("more than %d million different ids: plan them in several backfills", maxIDs/1_000_000)
		default:
			seen[id] = struct{}{}
			l.IDs = append(l.IDs, id)
		}
		if last {
			return l, nil
		}
	}
}

// readLine reads a line. If it is longer than the reader's buffer, it returns the beginning and skips the rest. The
// line is valid until the next read.
func readLine(r *bufio.Reader) (line []byte, long bool, err error) {
	line, err = r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, false, err
	}
	line = bytes.Clone(line[:maxShown])
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = r.ReadSlice('\n')
	}
	return line, true, err
}

func (l *IDList) reject(n int, line []byte) {
	l.Wrong++
	if len(l.Rejected) < maxRejected {
		l.Rejected = append(l.Rejected, RejectedLine{n, string(line[:min(len(line), maxShown)])})
	}
}

// Chunks returns the ids, size at a time.
func (l *IDList) Chunks(size int) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for ids := range slices.Chunk(l.IDs, size) {
			chunk := make([]string, len(ids))
			for i, id := range ids {
				chunk[i] = string(id[:])
			}
			if !yield(chunk) {
				return
			}
		}
	}
}
