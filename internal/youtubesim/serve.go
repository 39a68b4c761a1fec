package youtubesim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Serve answers as a stand-in at an address until ctx is done; wait returns why it ended.
func Serve(ctx context.Context, listen string, h http.Handler) (url string, wait func() error, err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return "", nil, fmt.Errorf("listen: %w: is another program there? --listen 127.0.0.1:0 picks a free port", err)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	wait = func() error {
		select {
		case err := <-ended:
			return fmt.Errorf("serve: %w", err)
		case <-ctx.Done():
		}
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		if s.Shutdown(stopCtx) != nil {
			_ = s.Close()
		}
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve: %w", err)
		}
		return context.Cause(ctx)
	}
	return "http://" + l.Addr().String() + "/", wait, nil
}
