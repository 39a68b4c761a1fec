//go:build unix

package faulty

import (
	"bufio"
	"encoding/binary"
	"io"
	"strings"
)

// postgres is PostgreSQL's protocol: a message is a letter, a length of four bytes, and a body. A client asks with
// several messages; the last one is Sync or a simple query. The answer ends with ReadyForQuery.
// https://www.postgresql.org/docs/15/protocol.html
type postgres struct {
	words    []string        // a statement with one of them is a script
	prepared map[string]bool // by name: whether it is a script
	begun    bool            // the first message, which has no letter, has been read
}

// cancel is the code of a first message that asks to cancel another connection's query, and gets no answer.
const cancel = 80877102

func (l *postgres) command(in *bufio.Reader) (raw []byte, what kind, err error) {
	if !l.begun {
		l.begun = true
		raw, err = readMessage(in, nil)
		if err == nil && len(raw) >= 8 && binary.BigEndian.Uint32(raw[4:]) == cancel {
			return raw, unanswered, nil
		}
		return raw, plain, err
	}
	for {
		begin := len(raw)
		if raw, err = readLettered(in, raw); err != nil {
			return raw, what, err
		}
		letter, body := raw[begin], raw[begin+5:]
		switch letter {
		case 'P': // Parse: a name, and the statement
			name, text := cutText(body)
			sql, _ := cutText(text)
			l.prepared[name] = l.isScript(sql)
		case 'B': // Bind: a portal, and the name of the statement to run in it
			_, rest := cutText(body)
			if name, _ := cutText(rest); l.prepared[name] {
				what = script
			}
		case 'Q':
			sql, _ := cutText(body)
			switch {
			case strings.HasPrefix(sql, "START_REPLICATION"):
				what = replica
			case l.isScript(sql):
				what = script
			}
			return raw, what, nil
		case 'S':
			return raw, what, nil
		case 'X', 'p', 'H', 'd', 'c', 'f': // Terminate, a password, Flush, and messages of COPY
			return raw, unanswered, nil
		}
	}
}

// isScript looks for the words, except in statements that only create functions for later. READ COMMITTED is no
// COMMIT.
func (l *postgres) isScript(sql string) bool {
	sql = strings.ReplaceAll(strings.ToLower(sql), "committed", "")
	for _, w := range l.words {
		if strings.Contains(sql, strings.ToLower(w)) && !strings.Contains(sql, "create ") {
			return true
		}
	}
	return false
}

// reply reads until the client may have to send: the end of an answer, or a request to the client. If the connection
// ends, the part before its end is forwarded, since it says why.
func (l *postgres) reply(in *bufio.Reader) (raw []byte, whole bool, err error) {
	for {
		begin := len(raw)
		if raw, err = readLettered(in, raw); err != nil {
			if begin > 0 {
				return raw[:begin], false, nil
			}
			return raw, false, err
		}
		switch raw[begin] {
		case 'Z', 'W': // ReadyForQuery; the start of a stream in both directions
			return raw, true, nil
		case 'R', 'G', 'H', 'd': // the server may want a password; COPY
			return raw, false, nil
		}
	}
}

// readLettered reads a message that begins with a letter, and appends it.
func readLettered(in *bufio.Reader, raw []byte) ([]byte, error) {
	letter, err := in.ReadByte()
	if err != nil {
		return raw, err
	}
	return readMessage(in, append(raw, letter))
}

// readMessage reads a length, which includes itself, and that many bytes, and appends them.
func readMessage(in *bufio.Reader, raw []byte) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(in, length[:]); err != nil {
		return raw, err
	}
	n := int(binary.BigEndian.Uint32(length[:]))
	if n < 4 || n > 1<<30 {
		return raw, errProtocol
	}
	begin := len(raw) + 4
	raw = append(append(raw, length[:]...), make([]byte, n-4)...)
	_, err := io.ReadFull(in, raw[begin:])
	return raw, err
}

// cutText returns the text up to its terminating zero, and the rest.
func cutText(b []byte) (text string, rest []byte) {
	text, after, _ := strings.Cut(string(b), "\x00")
	return text, []byte(after)
}
