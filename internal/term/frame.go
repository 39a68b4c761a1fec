package term

import (
	"bytes"
	"context"
	"io"
	"os"
	"time"
)

// Frame collects a screen, which is laid out and styled as for what it will be written to.
type Frame struct {
	to   io.Writer
	text bytes.Buffer
}

func (f *Frame) Write(b []byte) (int, error) { return f.text.Write(b) }

// Watch draws a screen every so often: over the one before on a terminal that can, elsewhere behind it and gap. It
// returns what drawing or writing fails with, or the cause of the end of ctx.
func Watch(ctx context.Context, w *CheckedWriter, every time.Duration, gap string, draw func(to *CheckedWriter) error) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	over := IsTerminal(w) && os.Getenv("TERM") != "dumb"
	between := ""
	for {
		frame := &Frame{to: w}
		if err := draw(&CheckedWriter{To: frame, Plain: w.Plain}); err != nil {
			return err
		}
		text := append([]byte(between), frame.text.Bytes()...)
		if between = gap; over {
			text = frame.over()
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// over draws over what is on the terminal: each line wipes the rest of its own, and the last one what is below. What
// does not fit below is left out, since a terminal that scrolls cannot be drawn over.
func (f *Frame) over() []byte {
	lines := bytes.SplitAfter(f.text.Bytes(), []byte("\n"))
	if _, rows := terminalSize(file(f.to)); rows > 1 && len(lines) > rows {
		lines = lines[:rows-1]
	}
	out := []byte("\x1b[H")
	for _, line := range lines {
		out = append(append(out, bytes.TrimSuffix(line, []byte("\n"))...), "\x1b[K"...)
		if bytes.HasSuffix(line, []byte("\n")) {
			out = append(out, '\n')
		}
	}
	return append(out, "\x1b[J"...)
}

// Repeat calls do every so often, and last after that, when stop is called or ctx is done; stop returns when last has.
func Repeat(ctx context.Context, every time.Duration, do, last func()) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		defer last()
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				do()
			}
		}
	}()
	return func() {
		cancel()
		<-gone
	}
}
