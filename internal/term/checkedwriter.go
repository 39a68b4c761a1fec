package term

import (
	"cmp"
	"fmt"
	"io"
	"os"
)

// CheckedWriter is standard output that remembers a failed write: a command must not report success if its reader got
// half an answer.
type CheckedWriter struct {
	To    io.Writer
	Err   error // of the first write that failed
	Plain bool  // neither bold nor coloured, on any output
}

func (o *CheckedWriter) Write(b []byte) (int, error) {
	n, err := o.To.Write(b)
	if err != nil {
		err = fmt.Errorf("write to standard output: %w", err)
		o.Err = cmp.Or(o.Err, err)
	}
	return n, err
}

// destination returns the file that w ends in, nil if there is none, and whether a writer on the way is Plain.
func destination(w io.Writer) (file *os.File, plain bool) {
	switch o := w.(type) {
	case *CheckedWriter:
		file, plain = destination(o.To)
		return file, plain || o.Plain
	case *Frame:
		return destination(o.to)
	case *os.File:
		return o, false
	}
	return nil, false
}

// IsTerminal reports whether w writes to a terminal. The null device, which cron may give, is not one.
func IsTerminal(w io.Writer) bool {
	f, _ := destination(w)
	if f == nil {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
