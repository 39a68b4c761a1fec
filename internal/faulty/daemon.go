//go:build unix

package faulty

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// daemon is a process that must not run as root, with its own port and directory.
type daemon struct {
	Port int

	dir    string
	disk   *disk               // nil: this machine's disk
	as     *syscall.Credential // nil: the user of the test
	log    *locked
	port   *os.File // the port's lock
	cmd    *exec.Cmd
	exited chan struct{}
}

func newDaemon(name string) (*daemon, error) {
	p := &daemon{log: &locked{}}
	if os.Getuid() == 0 {
		for _, name := range []string{"postgres", "nobody"} {
			u, err := user.Lookup(name)
			if err != nil {
				continue
			}
			uid, _ := strconv.ParseUint(u.Uid, 10, 32)
			gid, _ := strconv.ParseUint(u.Gid, 10, 32)
			p.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
			break
		}
		if p.as == nil {
			return nil, fmt.Errorf("no user but root to run %s: %w", name, ErrAbsent)
		}
	}
	var err error
	if p.dir, err = os.MkdirTemp("", "ingest-"+name+"-"); err != nil {
		return nil, err
	}
	if p.as != nil {
		err = os.Chown(p.dir, int(p.as.Uid), int(p.as.Gid))
	}
	return p, err
}

func (p *daemon) command(path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), path, args...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.as, Setpgid: true}
	return cmd
}

// on runs do on a thread that sees the daemon's disk.
func (p *daemon) on(do func()) {
	if p.disk == nil {
		do()
		return
	}
	p.disk.on(do)
}

// finish runs a command to its end.
func (p *daemon) finish(path string, args ...string) (err error) {
	p.on(func() {
		if out, failed := p.command(path, args...).CombinedOutput(); failed != nil {
			err = fmt.Errorf("%s: %w: %s", path, failed, out)
		}
	})
	return err
}

// Addr is the address it listens on.
func (p *daemon) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Port)) }

// begin starts the daemon and waits until it answers. The first time it tries ports until one is free.
func (p *daemon) begin(path string, args func(port int) []string, answers func(context.Context) error) error {
	for try := 0; ; try++ {
		if p.port == nil {
			var err error
			if p.Port, p.port, err = takePort(); err != nil {
				return err
			}
		}
		if err := p.run(path, args(p.Port)); err != nil {
			return err
		}
		err := p.await(answers)
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
		default:
			return err
		}
		if try == 20 || !strings.Contains(p.log.String(), "in use") {
			return fmt.Errorf("%w\n%s", err, p.log)
		}
		_ = p.port.Close()
		p.port = nil
	}
}

// run starts the process. A thread that does nothing else waits for it: if that thread dies with the test's process,
// the daemon dies too.
func (p *daemon) run(path string, args []string) error {
	cmd, exited, started := p.command(path, args...), make(chan struct{}), make(chan error)
	cmd.Stdout, cmd.Stderr = p.log, p.log
	dieWithParent(cmd.SysProcAttr)
	go func() {
		runtime.LockOSThread()
		var err error
		p.on(func() { err = cmd.Start() })
		started <- err
		_ = cmd.Wait() // killed
		close(exited)
	}()
	p.cmd, p.exited = cmd, exited
	return <-started
}

func (p *daemon) await(answers func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		once, done := context.WithTimeout(ctx, 5*time.Second)
		err := answers(once)
		done()
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("it has ended: %w", err)
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Freeze stops the process and its children: they keep their connections and do not answer.
func (p *daemon) Freeze() { p.signalAll(syscall.SIGSTOP) }

// Thaw lets them continue.
func (p *daemon) Thaw() { p.signalAll(syscall.SIGCONT) }

// Kill ends the process and its children like a power cut, frozen or not.
func (p *daemon) Kill() {
	select {
	case <-p.exited: // its number may be another's by now
	default:
		p.signalAll(syscall.SIGKILL)
		<-p.exited
	}
}

// Halt shuts the process down cleanly.
func (p *daemon) Halt() {
	_ = p.cmd.Process.Signal(syscall.SIGINT)
	<-p.exited
}

// Stop ends the process for good, and removes its files.
func (p *daemon) Stop() {
	if p.cmd != nil {
		p.Kill()
	}
	if p.port != nil {
		_ = p.port.Close()
	}
	if p.disk != nil {
		p.disk.end()
	}
	_ = os.RemoveAll(p.dir)
}
