//go:build unix

package faulty

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// language is the part of a protocol that a proxy must understand.
type language interface {
	// command reads from the client up to where the server may have to answer.
	command(in *bufio.Reader) (raw []byte, what kind, err error)
	// reply reads from the server; whole reports whether a command's answer is complete.
	reply(in *bufio.Reader) (raw []byte, whole bool, err error)
}

// kind classifies a command for the proxy.
type kind int

const (
	plain      kind = iota
	script          // its reply may be lost
	replica         // answered by an endless stream
	unanswered      // has no reply of its own
)

// redis is the language of Redis.
type redis struct{}

func (redis) command(in *bufio.Reader) ([]byte, kind, error) {
	raw, name, err := readCommand(in)
	switch name {
	case "evalsha", "eval", "fcall":
		return raw, script, err
	case "psync", "sync":
		return raw, replica, err
	}
	return raw, plain, err
}

func (redis) reply(in *bufio.Reader) ([]byte, bool, error) {
	raw, err := readReply(in)
	return raw, true, err
}

var errProtocol = errors.New("faulty: this is not the protocol that was expected")

// readCommand reads one command, and returns its name in lower case; an empty line has none.
func readCommand(in *bufio.Reader) (raw []byte, name string, err error) {
	raw, err = in.ReadBytes('\n')
	if err != nil {
		return nil, "", err
	}
	if raw[0] != '*' {
		name, _, _ = strings.Cut(strings.TrimSpace(string(raw)), " ")
		return raw, strings.ToLower(name), nil
	}
	n, err := number(raw)
	for i := 0; i < n && err == nil; i++ {
		var word []byte
		if word, err = readReply(in); err == nil && i == 0 {
			_, text, _ := bytes.Cut(word, []byte("\r\n"))
			name = strings.ToLower(strings.TrimSpace(string(text)))
		}
		raw = append(raw, word...)
	}
	return raw, name, err
}

// readReply reads the bytes of one value of Redis' protocol, version 2 or 3.
func readReply(in *bufio.Reader) ([]byte, error) {
	raw, err := in.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	var values int
	switch raw[0] {
	case '+', '-', ':', '_', ',', '#', '(', '\n', '\r':
		return raw, nil
	case '$', '=', '!':
		n, err := number(raw)
		if err != nil || n < 0 {
			return raw, err
		}
		text := make([]byte, n+2)
		_, err = io.ReadFull(in, text)
		return append(raw, text...), err
	case '*', '~', '>':
		values, err = number(raw)
	case '%':
		values, err = number(raw)
		values *= 2
	default:
		return nil, errProtocol
	}
	for i := 0; i < values && err == nil; i++ {
		var value []byte
		value, err = readReply(in)
		raw = append(raw, value...)
	}
	return raw, err
}

// number returns the number in a line such as "*3\r\n".
func number(line []byte) (int, error) {
	n := 0
	if _, err := fmt.Sscan(string(bytes.TrimSpace(line[1:])), &n); err != nil || n > 1<<26 {
		return 0, errProtocol
	}
	return n, nil
}
