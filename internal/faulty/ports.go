//go:build unix

package faulty

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// The ports for servers are below the ports that the system assigns itself, and so are the additional ports of a
// Redis Cluster's members, 10,000 above.
const firstPort, manyPorts = 10_000, 10_000

// taken holds the locks of this process's ports until the process ends.
var taken struct {
	sync.Mutex

	locks []*os.File
}

// FreePort returns a port without a listener that no other test gets, in this process or another.
func FreePort(t T) int {
	t.Helper()
	port, lock, err := takePort()
	if err != nil {
		t.Fatalf("faulty: %v", err)
	}
	taken.Lock()
	defer taken.Unlock()
	taken.locks = append(taken.locks, lock)
	return port
}

// takePort returns a port, and the lock that reserves it.
func takePort() (port int, lock *os.File, err error) {
	dir := filepath.Join(os.TempDir(), "ingest-ports-"+strconv.Itoa(os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, nil, err
	}
	begin := os.Getpid()*37 + int(time.Now().UnixNano()/1000)
	for k := range manyPorts {
		port := firstPort + (begin+k)%manyPorts
		lock, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(port)), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return 0, nil, err
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			l, err := (&net.ListenConfig{}).Listen(context.Background(),
				"tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
			if err == nil {
				_ = l.Close()
				return port, lock, nil
			}
		}
		_ = lock.Close()
	}
	return 0, nil, errors.New("no port is free between 10,000 and 20,000")
}
