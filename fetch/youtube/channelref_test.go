package youtube_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/fetch/youtube"
)

func TestChannelsAreKnownByIDHandleAndURL(t *testing.T) {
	const id = "UC_x5XG1OV2P6uZZ5FSM9Ttw"
	for in, want := range map[string]string{
		id:                              id,
		" " + id + "\n":                 id,
		"@GoogleDevelopers":             "@googledevelopers",
		"@ünïcode-चैनल":                 "@ünïcode-चैनल",
		"https://www.youtube.com/@Name": "@name",
		"https://m.youtube.com/@name/videos?view=0": "@name",
		"youtube.com/@name/":                        "@name",
		"http://youtube.com/channel/" + id:          id,
		"www.youtube.com/channel/" + id + "/about":  id,
	} {
		if got, err := youtube.ParseChannel(in); err != nil || got != want {
			t.Errorf("%q is %q, %v, want %q", in, got, err, want)
		}
	}
	for in, hint := range map[string]string{
		"":                                    "no channel",
		"name":                                "its @handle",
		"@" + strings.Repeat("x", 101):        "no handle",
		"@a b c":                              "no handle",
		"@a\x1b[31m":                          "no handle",
		"@a/b/../c":                           "no handle",
		id[:23]:                               "22 more",
		id + "x":                              "22 more",
		id[:23] + "$":                         "22 more",
		"https://www.youtube.com/c/Name":      "old kind",
		"https://www.youtube.com/user/Name":   "old kind",
		"https://www.youtube.com/watch?v=abc": "no channel",
		"https://www.youtube.com/":            "no channel",
		"https://example.com/@name":           "no channel",
		"https://youtube.com.evil.net/@name":  "no channel",
		"javascript://youtube.com/@name":      "no channel",
	} {
		got, err := youtube.ParseChannel(in)
		if err == nil || !strings.Contains(err.Error(), hint) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%q is %q, %v, want %q", in, got, err, hint)
		}
	}
}

func TestEveryWrongChannelIsNamedAndRepeatsAreOne(t *testing.T) {
	got, err := youtube.ParseChannels([]string{"@Name", "youtube.com/@name", "@other"})
	if err != nil || !slices.Equal(got, []string{"@name", "@other"}) {
		t.Errorf("%q, %v, want @name and @other", got, err)
	}
	_, err = youtube.ParseChannels([]string{"one", "@fine", "two"})
	if err == nil || !strings.Contains(err.Error(), "channel 1 of 3") || !strings.Contains(err.Error(), "channel 3 of 3") {
		t.Errorf("%v", err)
	}
}
