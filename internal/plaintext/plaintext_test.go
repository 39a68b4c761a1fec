package plaintext_test

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"github.com/trendvidstream/ingest/internal/plaintext"
)

// utf16LE returns a text as PowerShell writes it.
func utf16LE(s string) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune("\ufeff" + s)) {
		b.WriteString(string([]byte{byte(unit), byte(unit >> 8)}))
	}
	return b.String()
}

func TestATextIsReadHoweverItWasSaved(t *testing.T) {
	const want = "eins\nzwei\n\ndrei 愛"
	for name, text := range map[string]string{
		"Unix": want, "Windows": "eins\r\nzwei\r\n\r\ndrei 愛", "an old Mac": "eins\rzwei\r\rdrei 愛", "a mark": "\ufeff" + want,
		"UTF-16": utf16LE("eins\r\nzwei\r\n\r\ndrei 愛"), "UTF-16 without a mark": utf16LE(want)[2:],
	} {
		if got := plaintext.Decode([]byte(text)); string(got) != want {
			t.Errorf("%s: %q, want %v", name, got, want)
		}
		if got, err := io.ReadAll(plaintext.NewReader(iotest.OneByteReader(strings.NewReader(text)))); err != nil || string(got) != want {
			t.Errorf("%s, byte by byte: %q, %v, want %v", name, got, err, want)
		}
	}
	if got := plaintext.Decode([]byte("\ufeffein \xfc")); string(got) != "ein \xfc" {
		t.Errorf("bytes that are no UTF-8 became %q", got)
	}
}
