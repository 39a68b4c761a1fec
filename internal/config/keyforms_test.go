package config_test

import (
	"strings"
	"testing"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/config"
)

// A key is found in the text around it if there is only one, and JSON is refused as JSON.
func TestAKeyIsReadAsPeopleKeepIt(t *testing.T) {
	const key = "AIzaSyA-1234567890abcdefghijklmnopqrstu"
	for name, text := range map[string]string{
		"BOM": "\ufeff" + key + "\n", "quotes": `"` + key + `"`, "NAME=": "YOUTUBE_API_KEY=" + key, "export": "export KEY='" + key + "'\n",
		"no width": key[:5] + "\u200b" + key[5:] + "\u2060",
		"a query":  "?key=" + key, "a URL": "https://www.googleapis.com/youtube/v3/videos?id=x&key=" + key, "YAML": "key: " + key + " # mine\n",
		"PowerShell": `$env:KEY="` + key + `"`, "with other settings": "[default]\nA=1\nKEY='" + key + "';\n", "twice": key + "\n" + key, "marks of order": "\u202a" + key + "\u202c",
		"curly quotes": "“" + key + "”", "Markdown": "`" + key + "`", "a soft hyphen": key[:9] + "\u00ad" + key[9:], "a JSON credential": `{"api_key": [{"current_key": "` + key + `"}]}`,
	} {
		t.Setenv("INGEST_KEY", text)
		if got, err := (&config.Config{}).Key(); err != nil || got.Reveal() != key {
			t.Errorf("%s: %v, want %v", name, err, key)
		}
	}
	t.Setenv("INGEST_KEY", `{"type": "service_account", "private_key": "hidden"}`)
	if _, err := (&config.Config{}).Key(); err == nil || !strings.Contains(err.Error(), "service account") || strings.Contains(err.Error(), "hidden") {
		t.Errorf("JSON: %v", err)
	}
}

// A text that cannot be a key is never sent, and is not quoted.
func TestATextThatCannotBeAKeyIsNeverSent(t *testing.T) {
	const key = "AIzaSyA-1234567890abcdefghijklmnopqrstu"
	for text, why := range map[string]string{
		"ya29.a0AfH6SMBxyz": "OAuth", "GOCSPX-abcdefghijklmnopqrstuvwx": "OAuth", "1234-abc.apps.googleusercontent.com": "OAuth",
		"YOUR_API_KEY": "placeholder", "<your_key>": "placeholder", key[:38]: "holds 38 characters", key + key: "holds 78 characters",
		"/home/me/key.txt": "no key has", "'secret": "no key has", "a&b=c": "no key has", `[{"key":"x"}]`: "JSON",
		"A=" + key + "\nB=AIzaSyB-1234567890abcdefghijklmnopqrstu": "several keys",
	} {
		t.Setenv("INGEST_KEY", text)
		got, err := (&config.Config{}).Key()
		if err == nil || got != (ingest.Secret{}) || !strings.Contains(err.Error(), why) || strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
