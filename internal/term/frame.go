package term

import (
	"bytes"
	"io"
)

// Frame collects a screen, which is laid out and styled as for what it will be written to.
type Frame struct {
	to   io.Writer
	text bytes.Buffer
}

func (f *Frame) Write(b []byte) (int, error) { return f.text.Write(b) }
