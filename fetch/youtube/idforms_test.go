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
		"bare returns":      {"dQw4w9WgXcQ\rjNQXAC9IVRw\r", "[dQw4w9WgXcQ jNQXAC9IVRw] []"},
		"an array":          {`["dQw4w9WgXcQ", "jNQXAC9IVRw"]`, "[dQw4w9WgXcQ jNQXAC9IVRw] []"},
		"an array on lines": {"[\n  \"dQw4w9WgXcQ\",\n  \"https://youtu.be/jNQXAC9IVRw\",\n  7\n]\n", "[dQw4w9WgXcQ jNQXAC9IVRw] [4]"},
		"prose":             {"Information, and more\nInformation see also\ndescription Information\n", "[] [1 2 3]"},
		"a later column":    {"trending_date;video_id;title\n2026-02-01;dQw4w9WgXcQ;x\n2026-02-01;;y\n", "[dQw4w9WgXcQ] [3] column 2 (video_id)"},
		"no heading":        {"2026-02-01;dQw4w9WgXcQ;Information\n2026-02-02;jNQXAC9IVRw;description\n", "[dQw4w9WgXcQ jNQXAC9IVRw] [] column 2"},
		"a heading of id":   {"id,video_id\n1,dQw4w9WgXcQ\n", "[dQw4w9WgXcQ] [] column 2 (video_id)"},
		"old Takeout":       {"Playlist ID,Channel ID\nPL1234567890,UCuAXFkgsw1L7xaCfnd5JJOw\n\nVideo ID,Time Added\ndQw4w9WgXcQ,2024\n", "[dQw4w9WgXcQ] [1 2] column 1 (Video ID)"},
		"quoted line ends": {"video_id,title\ndQw4w9WgXcQ,\"one \"\"word\"\"\nhttps://youtu.be/aaaaaaaaaaa see\nInformation\"\njNQXAC9IVRw,\"B\"\n",
			"[dQw4w9WgXcQ jNQXAC9IVRw] [] column 1 (video_id)"},
		"quotes, no heading":  {"dQw4w9WgXcQ,\"one\naaaaaaaaaaa\"\njNQXAC9IVRw,x\n", "[dQw4w9WgXcQ jNQXAC9IVRw] []"},
		"commas alone":        {"dQw4w9WgXcQ,jNQXAC9IVRw,9bZkp7q19f0\nhttps://youtu.be/aaaaaaaaaaB,https://youtu.be/aaaaaaaaaaC\n", "[dQw4w9WgXcQ jNQXAC9IVRw 9bZkp7q19f0 aaaaaaaaaaB aaaaaaaaaaC] []"},
		"one like a word":     {"dQw4w9WgXcQ,jNQXAC9IVRw,Information\ndQw4w9WgXcQ,Information\n", "[dQw4w9WgXcQ jNQXAC9IVRw Information] []"},
		"mixed commas":        {"dQw4w9WgXcQ , jNQXAC9IVRw ; 9bZkp7q19f0\n", "[dQw4w9WgXcQ jNQXAC9IVRw 9bZkp7q19f0] []"},
		"URLs with a space":   {"https://youtu.be/dQw4w9WgXcQ https://youtu.be/jNQXAC9IVRw\n", "[dQw4w9WgXcQ jNQXAC9IVRw] []"},
		"Markdown":            {"- https://youtu.be/dQw4w9WgXcQ\n* [Me](https://www.youtube.com/watch?v=jNQXAC9IVRw)\n1. <https://youtu.be/9bZkp7q19f0>\n", "[dQw4w9WgXcQ jNQXAC9IVRw 9bZkp7q19f0] []"},
		"bookmarks":           {"<DL><p>\n<DT><A HREF=\"https://www.youtube.com/watch?v=dQw4w9WgXcQ\" ADD_DATE=\"1\">Rick</A>\n", "[dQw4w9WgXcQ] [1]"},
		"Takeout's history":   {"[{\n\"title\": \"Watched Information\",\n\"titleUrl\": \"https://www.youtube.com/watch?v=dQw4w9WgXcQ\"\n}]", "[dQw4w9WgXcQ] [1 2 4]"},
		"two URLs in prose":   {"see https://youtu.be/dQw4w9WgXcQ and https://youtu.be/jNQXAC9IVRw\n", "[] [1]"},
		"URLs in other cells": {"dQw4w9WgXcQ,text,https://youtu.be/jNQXAC9IVRw\n", "[dQw4w9WgXcQ] []"},
		"a comment":           {"dQw4w9WgXcQ # mine\nhttps://youtu.be/jNQXAC9IVRw # yours\n", "[dQw4w9WgXcQ jNQXAC9IVRw] []"},
		"YAML":                {"- dQw4w9WgXcQ\n- \"-jNQXAC9IVR\"\n", "[dQw4w9WgXcQ -jNQXAC9IVR] []"},
		"an array of Python":  {"['dQw4w9WgXcQ', 'jNQXAC9IVRw']\n", "[dQw4w9WgXcQ jNQXAC9IVRw] []"},
		"nothing to see":      {"\u200bdQw4w9WgXcQ\njNQXAC9IVRw\x00\r\n\ufeff9bZkp7q19f0\u00a0\n\x1a", "[dQw4w9WgXcQ jNQXAC9IVRw 9bZkp7q19f0] []"},
		"curly quotes":        {"“dQw4w9WgXcQ”\n", "[dQw4w9WgXcQ] []"},
		"text to Excel":       {"video_id,title\n\"=\"\"dQw4w9WgXcQ\"\"\",x\n=\"jNQXAC9IVRw\",y\n", "[dQw4w9WgXcQ jNQXAC9IVRw] [] column 1 (video_id)"},
		"UTF-16, unmarked":    {strings.ReplaceAll(wide.String()[2:], "\r\x00", ""), "[dQw4w9WgXcQ jNQXAC9IVRw] []"},
		"quotes before it":    {"title,video_id\n\"one\n\"\"two\"\"\",dQw4w9WgXcQ\n", "[dQw4w9WgXcQ] [] column 2 (video_id)"},
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
		if got := strings.TrimSpace(fmt.Sprint(ids, wrong, " "+list.Column)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestHandlesOfAnyLengthAndScriptAreTheProvidersToJudge(t *testing.T) {
	for given, want := range map[string]string{
		"@東海": "@東海", "@愛": "@愛", "@می\u200cخواهم": "@می\u200cخواهم", "https://www.youtube.com/@%E6%84%9B/videos": "@愛",
		"@%E6%84%9B": "@愛", "\u200f@愛\u200b": "@愛",
	} {
		if got, err := youtube.ParseChannel(given); err != nil || got != want {
			t.Errorf("%q is %q, %v, want %v", given, got, err, want)
		}
	}
}

func TestAQuoteThatDoesNotEndIsRefused(t *testing.T) {
	_, err := youtube.ReadIDs(strings.NewReader("video_id,title\ndQw4w9WgXcQ,\"one\njNQXAC9IVRw,two\n"), func(int, string, string) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "the quoted cell that begins on line 2") {
		t.Errorf("%v", err)
	}
}
