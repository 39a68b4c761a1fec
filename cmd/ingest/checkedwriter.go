package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
)

// checkedWriter is standard output, which remembers that it could not be written to: whoever reads half of an
// answer must not be told that all is well.
type checkedWriter struct {
	to  io.Writer
	err error // the first
}

func (o *checkedWriter) Write(b []byte) (int, error) {
	n, err := o.to.Write(b)
	if err != nil {
		err = fmt.Errorf("write to standard output: %w", err)
		o.err = cmp.Or(o.err, err)
	}
	return n, err
}

// file is the file behind a writer, if there is one.
func file(w io.Writer) (*os.File, bool) {
	if o, ok := w.(*checkedWriter); ok {
		w = o.to
	}
	f, ok := w.(*os.File)
	return f, ok
}
