package youtube

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/trendvidstream/ingest/internal/plaintext"
)

const (
	maxIDs    = 5_000_000 // different ids in one list, which is held in memory
	maxShown  = 160       // bytes kept of a rejected line
	maxRecord = 1000      // lines of one row of a table
)

// IDList holds the ids that ReadIDs found in a person's list or table, in the order of their first appearance.
type IDList struct {
	IDs      []VideoID
	Repeated int    // repeats
	Wrong    int    // lines without an id
	Column   string // where a table has its videos: "column 2 (video_id)"; "" if the list is no table
}

// ReadIDs reads lines as ParseVideo does, lines of several ids, a yt-dlp archive, a JSON array, other text where the
// URLs of a line name one video, or a table: its column of videos is found by the heading, or by its ids. It skips
// empty lines, lines that begin with #, and the heading. It gives the others to reject: the line's number from 1, its
// text, shortened but not safe for a terminal, and the reason. Memory grows only with the number of different ids. A
// quoted cell that does not end is an error.
func ReadIDs(r io.Reader, reject func(line int, text, why string) error) (*IDList, error) {
	lines := bufio.NewReaderSize(plaintext.NewReader(r), 1<<16)
	head, _ := lines.Peek(1 << 14) // an error comes again
	l := &idReader{lines: lines, seen: map[VideoID]struct{}{}, reject: reject, table: findTable(head)}
	list, array := bytes.CutPrefix(bytes.TrimSpace(head), []byte("["))
	l.array = array && !bytes.HasPrefix(bytes.TrimSpace(list), []byte("{"))
	l.Column = l.table.String()
	for !l.ended {
		if err := l.readRow(); err != nil {
			return nil, err
		}
	}
	return &l.IDList, nil
}

type idReader struct {
	IDList
	lines  *bufio.Reader
	number int // of the last line that was read, from 1
	ended  bool
	seen   map[VideoID]struct{}
	reject func(line int, text, why string) error
	table  table // the zero table: the list is none
	array  bool  // the list is a JSON array
}

// next reads a line without space around it.
func (l *idReader) next() (line []byte, long bool, err error) {
	l.number++
	line, long, err = readLine(l.lines)
	l.ended = errors.Is(err, io.EOF)
	if err != nil && !l.ended {
		return nil, false, fmt.Errorf("read the ids, line %d: %w", l.number, err)
	}
	return bytes.TrimFunc(line, isBlank), long, nil
}

// isBlank reports whether a character shows nothing: white space, marks of order or no width, NUL, and the Ctrl-Z at
// the end of a file of DOS.
func isBlank(r rune) bool { return unicode.IsSpace(r) || unicode.In(r, unicode.Cf, unicode.Cc) }

// readRow reads a line, or a row of a table with all its lines.
func (l *idReader) readRow() error {
	line, long, err := l.next()
	if err != nil {
		return err
	}
	if id, ok := parseVideoID(line); ok { // nearly all lines
		return l.add(id)
	}
	number := l.number
	switch heading := l.table.heading == number; {
	case heading, len(line) == 0, line[0] == '#' && !long:
		return nil
	case long:
		return l.wrong(number, line, "the line is too long")
	case l.array:
		return l.readArray(number, line)
	}
	if ids := severalIDs(line); ids != nil && l.table.comma == 0 {
		return l.add(ids...)
	}
	if len(l.seen)+l.Wrong == 0 && isHeading(firstField(line)) && l.table.comma == 0 {
		return nil
	}
	shown, field := bytes.Clone(line[:min(len(line), maxShown)]), firstField(line)
	if row := l.table.row(line); row != nil {
		if l.table.comma == 0 {
			field = bytes.Clone(field)
		}
		if err := l.finish(row); err != nil {
			return err
		}
		if l.table.comma != 0 {
			field = firstField(row.cell)
		}
	}
	id, ok := parseVideoID(field)
	var text, why string
	switch {
	case ok && isWord(field) && !isClear(l.table.name):
		why = "that may be a word: give it alone on its line, or as a URL"
	case ok:
		return l.add(id)
	default:
		text, why = ParseVideo(string(field))
	}
	switch {
	case why != "" && l.table.comma != 0:
		return l.wrong(number, shown, fmt.Sprintf("%s: %s", l.table, why))
	case why != "":
		return l.wrong(number, shown, why)
	}
	copy(id[:], text)
	return l.add(id)
}

// finish reads the other lines of a row that has a quoted cell with line ends.
func (l *idReader) finish(row *row) error {
	for begin := l.number; row.quoted; {
		if l.ended || l.number-begin >= maxRecord {
			return fmt.Errorf("read the ids: the quoted cell that begins on line %d does not end: "+
				"add the closing quote, or remove the first one", begin)
		}
		line, _, err := l.next()
		if err != nil {
			return err
		}
		row.read(line)
	}
	return nil
}

// readArray reads a line of a JSON array of ids or URLs.
func (l *idReader) readArray(number int, line []byte) error {
	for word := range bytes.FieldsFuncSeq(line, func(r rune) bool {
		return r == '[' || r == ']' || r == ',' || r == '"' || r == '\'' || r == ' ' || r == '\t'
	}) {
		text, why := ParseVideo(string(word))
		if why != "" {
			return l.wrong(number, line, "an array has ids or URLs, in quotes: "+why)
		}
		var id VideoID
		copy(id[:], text)
		if err := l.add(id); err != nil {
			return err
		}
	}
	return nil
}

func (l *idReader) wrong(number int, line []byte, why string) error {
	l.Wrong++
	return l.reject(number, string(line[:min(len(line), maxShown)]), why)
}

func (l *idReader) add(ids ...VideoID) error {
	for _, id := range ids {
		if _, repeated := l.seen[id]; repeated {
			l.Repeated++
			continue
		}
		if len(l.seen) == maxIDs {
			return fmt.Errorf("more than %d million different ids: plan them in several backfills", maxIDs/1_000_000)
		}
		l.seen[id] = struct{}{}
		l.IDs = append(l.IDs, id)
	}
	return nil
}

// compound matches words without spaces between them, as HelloWorld1.
var compound = regexp.MustCompile(`^(?:[A-Za-z]?[a-z]{2,})+[0-9]*$`)

// severalIDs returns the videos of a line that has only ids and URLs, apart from a comment, or the mark of an item or
// of a yt-dlp archive before the first. For a line that begins with other text it returns the one video that its URLs
// name. nil if there is none.
func severalIDs(line []byte) (ids []VideoID) {
	if bytes.Count(line, []byte{'"'})%2 > 0 {
		return nil // a cell goes on in the next line
	}
	text, _, _ := bytes.Cut(line, []byte(" #"))
	words := bytes.FieldsFunc(text,
		func(r rune) bool { return isBlank(r) || strings.ContainsRune(`,;|"'<>()[]{}`, r) })
	archive := len(words) == 2 && string(words[0]) == "youtube"
	marked := archive || len(words) > 1 && (string(words[0]) == "-" || string(words[0]) == "*")
	mayBeWord, doubtful := isWord, 0
	if tight := !bytes.Contains(text, []byte{' '}); tight {
		mayBeWord, doubtful = compound.Match, -len(words)/3
	}
	named, list := map[VideoID]bool{}, true
	for i, word := range words {
		video, why := ParseVideo(strings.TrimRight(string(word), "."))
		isURL := bytes.Contains(word, []byte{'/'})
		switch {
		case why == "":
			id, _ := parseVideoID([]byte(video))
			ids = append(ids, id)
			named[id] = isURL
			if !isURL && !archive && mayBeWord(word) {
				doubtful++
			}
		case i == 0 && marked:
		case i == 1 && len(ids) > 0:
			return nil // a table's row
		default:
			list = false
		}
	}
	if list && doubtful <= 0 || len(named) == 1 && named[ids[0]] {
		return ids
	}
	return nil
}

// readLine reads a line, valid until the next read. If a line is longer than the reader's buffer, it returns the
// beginning.
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
