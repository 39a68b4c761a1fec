package youtube_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/trendvidstream/ingest/fetch/youtube"
)

// Lists of ids as people keep them: each id once, in order, and each line that gives nothing by its number.
func TestIDsAreReadAsPeopleHaveThem(t *testing.T) {
	var wide strings.Builder
	for _, unit := range utf16.Encode([]rune("\ufeffdQw4w9WgXcQ\r\njNQXAC9IVRw\r\n")) {
		wide.Write([]byte{byte(unit), byte(unit >> 8)})
	}
	for name, c := range map[string]struct{ text, want string }{
		"several on a line": {"dQw4w9WgXcQ, jNQXAC9IVRw, 9bZkp7q19f0\n", "[dQw4w9WgXcQ jNQXAC9IVRw 9bZkp7q19f0] []"},
		"a yt-dlp archive":  {"youtube dQw4w9WgXcQ\nvimeo 76979871\nyoutube jNQXAC9IVRw", "[dQw4w9WgXcQ jNQXAC9IVRw] [2]"},
		"UTF-16":            {wide.String(), "[dQw4w9WgXcQ jNQXAC9IVRw] []"},
		"a word is no id":   {"dQw4w9WgXcQ,HelloWorld1\ndQw4w9WgXcQ see HelloWorld1\n", "[dQw4w9WgXcQ] [2]"},
		"a repeat":          {"dQw4w9WgXcQ dQw4w9WgXcQ\n", "[dQw4w9WgXcQ] []"},
	} {
		var wrong []int
		list, err := youtube.ReadIDs(strings.NewReader(c.text), func(line int, _, _ string) error {
			wrong = append(wrong, line)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for chunk := range list.Chunks(50) {
			ids = append(ids, chunk...)
		}
		if got := fmt.Sprint(ids, wrong); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestHandlesOfAnyLengthAndScriptAreTheProvidersToJudge(t *testing.T) {
	for given, want := range map[string]string{
		"@東海": "@東海", "@愛": "@愛", "@می\u200cخواهم": "@می\u200cخواهم", "https://www.youtube.com/@%E6%84%9B/videos": "@愛",
	} {
		if got, err := youtube.ParseChannel(given); err != nil || got != want {
			t.Errorf("%q is %q, %v", given, got, err)
		}
	}
}
