package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/trendvidstream/ingest/internal/config"
)

func TestPingURLPrefersTheCredentialThenTheFileThenTheVariable(t *testing.T) {
	dir := t.TempDir()
	write := func(name, url string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(url+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	c := &config.Config{PingFile: write("config.url", "https://ping.example/config")}
	wants := func(want string) {
		t.Helper()
		if got, err := c.PingURL(); err != nil || got.Reveal() != want {
			t.Errorf("%q, want %q: %v", got.Reveal(), want, err)
		}
	}
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	t.Setenv("INGEST_PING_URL_FILE", "")
	t.Setenv("INGEST_PING_URL", "")
	wants("https://ping.example/config")
	t.Setenv("INGEST_PING_URL", "http://127.0.0.1:8000/variable")
	wants("http://127.0.0.1:8000/variable")
	t.Setenv("INGEST_PING_URL_FILE", write("file.url", "https://ping.example/file"))
	wants("https://ping.example/file")
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	wants("https://ping.example/file") // systemd hands over no such credential
	write("ping-url", "https://ping.example/credential")
	wants("https://ping.example/credential")
	c.PingFile = ""
	for _, name := range []string{"CREDENTIALS_DIRECTORY", "INGEST_PING_URL_FILE", "INGEST_PING_URL"} {
		t.Setenv(name, "")
	}
	wants("")
}
