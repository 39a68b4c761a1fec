package report

import (
	"fmt"
	"io"
	"runtime"
)

// VersionDocument identifies the program.
type VersionDocument struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// NewVersionDocument returns the document of a version of this program.
func NewVersionDocument(version string) VersionDocument {
	return VersionDocument{version, runtime.Version(), runtime.GOOS, runtime.GOARCH}
}

// Print says it in a line.
func (d VersionDocument) Print(w io.Writer) error {
	_, err := fmt.Fprintf(w, "ingest %s (%s, %s/%s)\n", d.Version, d.Go, d.OS, d.Arch)
	return err
}
