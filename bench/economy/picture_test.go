package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The command that draws README's picture writes the picture's figures into the caption, and refuses a README without one.
func TestTheCaptionHasThePicturesFigures(t *testing.T) {
	text, err := os.ReadFile("../" + readme)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeCaption(file, 123*time.Hour/10, 345*time.Hour/10, 67*time.Hour); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(written), "charts are 12.3 h old") || !strings.Contains(string(written), "script's charts are 34.5 h old") ||
		!strings.Contains(string(written), "are up to 67 h old each day, ingest's stay near 12.3") {
		t.Errorf("%v: %s, want \"charts are 12.3 h old\" in it, \"script's charts are 34.5 h old\" in it and \"are up to 67 h old each day, ingest's stay near 12.3\" in it", err, captioned.Find(written))
	}
	if err := os.WriteFile(file, []byte("no caption"), 0o600); err != nil {
		t.Fatal(err)
	}
	if writeCaption(file, time.Hour, time.Hour, time.Hour) == nil {
		t.Error("writeCaption of a README without a caption: got no error, want one")
	}
}
