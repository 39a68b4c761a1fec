package term

import (
	"bytes"
	"context"
	"io"
	"os"
	"sync"
	"time"
)

// Frame collects a screen that is laid out and styled for the writer it will go to.
type Frame struct {
	to   io.Writer
	text bytes.Buffer
}

func (f *Frame) Write(b []byte) (int, error) { return f.text.Write(b) }

// Watch draws a screen at every interval: over the previous one on a terminal that supports this, elsewhere below it
// after gap. It returns the error of drawing or writing, or the cause of the end of ctx.
func Watch(ctx context.Context, w *CheckedWriter, every time.Duration, gap string,
	draw func(to *CheckedWriter) error) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	inPlace := IsTerminal(w) && os.Getenv("TERM") != "dumb"
	between := ""
	for {
		frame := &Frame{to: w}
		if err := draw(&CheckedWriter{To: frame, Plain: w.Plain}); err != nil {
			return err
		}
		text := append([]byte(between), frame.text.Bytes()...)
		if between = gap; inPlace {
			text = frame.redraw()
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

// redraw returns the screen drawn over the terminal's content: each line erases the rest of its row, and the last line
// all rows below. Lines that do not fit are left out, since a terminal that has scrolled cannot be drawn over.
func (f *Frame) redraw() []byte {
	lines := bytes.SplitAfter(f.text.Bytes(), []byte("\n"))
	if _, rows := terminalSize(f.to); rows > 1 && len(lines) > rows {
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

// Repeat calls do at every interval until ctx is done or stop is called. stop returns once do has returned.
func Repeat(ctx context.Context, every time.Duration, do func()) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
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
	})
	return func() { cancel(); running.Wait() }
}
