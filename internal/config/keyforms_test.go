package config_test

import (
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/internal/config"
)

// A key is taken out of its surroundings where it is plain, and JSON is refused by its name.
func TestAKeyIsReadAsPeopleKeepIt(t *testing.T) {
	const key = "AIzaSyA-1234567890abcdefghijklmnopqrstu"
	for name, text := range map[string]string{
		"BOM": "\ufeff" + key + "\n", "quotes": `"` + key + `"`, "NAME=": "YOUTUBE_API_KEY=" + key, "export": "export KEY='" + key + "'\n",
		"no width": key[:5] + "\u200b" + key[5:] + "\u2060",
	} {
		t.Setenv("INGEST_KEY", text)
		if got, err := (&config.Config{}).Key(); err != nil || got.Reveal() != key {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Setenv("INGEST_KEY", `{"type": "service_account", "private_key": "hidden"}`)
	if _, err := (&config.Config{}).Key(); err == nil || !strings.Contains(err.Error(), "service account") || strings.Contains(err.Error(), "hidden") {
		t.Errorf("JSON: %v", err)
	}
}
