package strictyaml

import (
	"testing"
	"time"
)

// WaitForPipes changes how long a pipe is read.
func WaitForPipes(t *testing.T, within time.Duration) {
	before := pipeWithin
	pipeWithin = within
	t.Cleanup(func() { pipeWithin = before })
}
