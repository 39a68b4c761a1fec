package term

import (
	"cmp"
	"fmt"
	"io"
	"os"
)

// CheckedWriter is standard output that remembers a failed write: a reader who got half an answer must not see a
// success.
type CheckedWriter struct {
	To  io.Writer
	Err error // of the first write that failed
}

func (o *CheckedWriter) Write(b []byte) (int, error) {
	n, err := o.To.Write(b)
	if err != nil {
		err = fmt.Errorf("write to standard output: %w", err)
		o.Err = cmp.Or(o.Err, err)
	}
	return n, err
}

// IsTerminal reports whether w writes to a terminal. The null device, which cron may give, is none.
func IsTerminal(w io.Writer) bool {
	if o, ok := w.(*CheckedWriter); ok {
		w = o.To
	}
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
