package main

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

//go:embed formula.rb
var formulaText string

// formula writes a Homebrew formula that installs the archives of this release.
func formula(r release) error {
	text := strings.ReplaceAll(formulaText, "VERSION", r.Version)
	for _, p := range r.Platforms {
		place := strings.ToUpper("SHA256_" + p.String())
		if !strings.Contains(text, place) {
			continue
		}
		sum, err := sumOf(filepath.Join(r.Out, fmt.Sprintf("ingest_%s_%s.tar.gz", r.Version, p)))
		if err != nil {
			return err
		}
		text = strings.ReplaceAll(text, place, sum)
	}
	return writeFile(r, "ingest.rb", func(to io.Writer) error {
		_, err := io.WriteString(to, text)
		return err
	})
}

// sumsName is the file of the checksums, as sha256sum -c reads them.
const sumsName = "SHA256SUMS"

// checksums writes the checksum of every artifact.
func checksums(r release) error {
	files, err := os.ReadDir(r.Out) // sorted
	if err != nil {
		return err
	}
	return writeFile(r, sumsName, func(to io.Writer) error {
		for _, f := range files {
			if f.IsDir() || strings.HasPrefix(f.Name(), sumsName) {
				continue
			}
			sum, err := sumOf(filepath.Join(r.Out, f.Name()))
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(to, "%s  %s\n", sum, f.Name()); err != nil {
				return err
			}
		}
		return nil
	})
}

func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", hash.Sum(nil)), nil
}
