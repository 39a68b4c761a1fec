package main_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// canary is a unique key, and the rest of it in a text that shows it.
type canary struct {
	key     string
	needles []needle
}

// needle is a piece of the key in one of its forms.
type needle struct {
	form string
	text []byte
}

// pieceLen is the length of a piece in characters of the key: shorter ones turn up by chance in a database. Pieces lie
// end to end, so that a text with twice as many characters of the key contains one.
const pieceLen = 6

// The prefixes of a key: with Google's it has the shape of their keys, which is removed from messages wherever it comes
// from. The other shape is only safe where it is known to be the key.
const (
	likeGoogle = "AIzaSy-"
	unlike     = "canary-"
)

// digits are a piece that turns up by chance in a time.
var digits = regexp.MustCompile(`[0-9]{4}`)

// newCanary makes a key.
func newCanary(prefix string) canary {
	text := rand.Text() + rand.Text()
	for digits.MatchString(text) {
		text = rand.Text() + rand.Text()
	}
	c := canary{key: prefix + text[:32]}
	for at := len(prefix); at+pieceLen <= len(c.key); at += pieceLen {
		c.add(c.key[at : at+pieceLen])
	}
	return c
}

// add adds a piece in every form.
func (c *canary) add(piece string) {
	reversed := []byte(piece)
	slices.Reverse(reversed)
	forms := map[string]string{
		"plain": piece, "lower case": strings.ToLower(piece), "reversed": string(reversed),
		"hex": hex.EncodeToString([]byte(piece)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(piece))),
	}
	for name, format := range map[string]string{"URL": "%%%02X", "escaped": `\x%02x`, "JSON": `\u%04x`, "HTML": "&#%d;", "spaced hex": "%02x "} {
		var s strings.Builder
		for _, b := range []byte(piece) {
			fmt.Fprintf(&s, format, b)
		}
		forms[name] = strings.TrimSpace(s.String())
	}
	// Where the piece does not begin at a multiple of three, its first and last characters of base64
	// depend on its neighbours.
	for shift := range 3 {
		text := base64.RawStdEncoding.EncodeToString([]byte("xxx"[:shift] + piece))
		from := (shift*8 + 5) / 6
		forms[fmt.Sprint("base64 at ", shift)] = text[from : (shift+len(piece))*8/6]
	}
	for form, text := range forms {
		c.needles = append(c.needles, needle{form, []byte(text)})
	}
}

// in returns the form of a piece of the key in a text; "" if it shows none.
func (c canary) in(text []byte) string {
	for _, n := range c.needles {
		if i := bytes.Index(text, n.text); i >= 0 {
			return fmt.Sprintf("%s, at byte %d of %d: %q", n.form, i, len(text), text[max(i-60, 0):min(i+60, len(text))])
		}
	}
	return ""
}

// watch fails the test if a text shows the key.
func (c canary) watch(t *testing.T, where string, text []byte) {
	t.Helper()
	if form := c.in(text); form != "" {
		t.Errorf("%s shows the key: %s, want it hidden", where, form)
	}
}

// watchFiles examines every file below a directory, its name and its bytes, and counts them.
func (c canary) watchFiles(t *testing.T, where, dir string) (files int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		c.watch(t, where+": the name of a file", []byte(d.Name()))
		if !d.Type().IsRegular() {
			return nil
		}
		files++
		data, err := os.ReadFile(path)
		c.watch(t, where+": "+d.Name(), data)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return files
}

// The canary test is only as good as its search: here the key is planted, whole and in part, in several forms, between
// other bytes.
func TestTheCanaryIsSeenInEveryForm(t *testing.T) {
	c := newCanary(likeGoogle)
	part := c.key[10:30]
	noise := make([]byte, 1<<20)
	_, _ = rand.Read(noise)
	for _, planted := range []string{
		c.key, part, strings.ToLower(part), "https://host/?key=" + c.key + "&a=b", fmt.Sprintf("%q", c.key), hex.EncodeToString([]byte(part)), fmt.Sprintf("% x", part),
		base64.StdEncoding.EncodeToString([]byte(part)), base64.StdEncoding.EncodeToString([]byte(":" + c.key)), base64.URLEncoding.EncodeToString([]byte("k:" + part + "@")),
		regexp.MustCompile(".").ReplaceAllStringFunc(part, func(s string) string { return fmt.Sprintf(`\u%04x`, s[0]) }),
		regexp.MustCompile(".").ReplaceAllStringFunc(part, func(s string) string { return fmt.Sprintf("%%%02X", s[0]) }),
	} {
		if c.in(slices.Concat(noise[:len(noise)/2], []byte(planted), noise[len(noise)/2:])) == "" {
			t.Errorf("%s is not seen", planted)
		}
	}
	for _, text := range []string{newCanary(likeGoogle).key, "", likeGoogle, string(noise)} {
		if form := c.in([]byte(text)); form != "" {
			t.Errorf("%.40q is taken for the key: %s, want no match", text, form)
		}
	}
}
