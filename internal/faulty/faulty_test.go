//go:build unix

package faulty_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trendvidstream/ingest/internal/faulty"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// count is a script with an effect, which shows whether it ran.
const count = "return redis.call('INCR', 'n')"

func behind(t *testing.T, settings ...string) (*faulty.Server, *faulty.Proxy) {
	t.Helper()
	s := faulty.Redis(t, settings...)
	return s, faulty.Before(t, s.Addr())
}

// client is one connection.
type client struct {
	net.Conn
	in *bufio.Reader
}

func dial(t *testing.T, addr string) *client {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &client{c, bufio.NewReader(c)}
}

// eval runs a script whose reply is one line.
func (c *client) eval(script string, within time.Duration) (string, error) {
	_ = c.SetDeadline(time.Now().Add(within))
	fmt.Fprintf(c, "*3\r\n$4\r\nEVAL\r\n$%d\r\n%s\r\n$1\r\n0\r\n", len(script), script)
	line, err := c.in.ReadString('\n')
	return strings.TrimSpace(line), err
}

func wantEval(t *testing.T, c *client, want string) {
	t.Helper()
	if got, err := c.eval(count, 5*time.Second); got != want || err != nil {
		t.Fatalf("%q, %v; want %q", got, err, want)
	}
}

func wantCount(t *testing.T, s *faulty.Server, want string) {
	t.Helper()
	if got := s.Must("GET", "n"); got != want {
		t.Fatalf("it ran %s times, want %s", got, want)
	}
}

func TestProxyPasses(t *testing.T) {
	s, p := behind(t)
	c := dial(t, p.Addr())
	wantEval(t, c, ":1")
	wantEval(t, c, ":2")
	wantCount(t, s, "2")
	if p.Scripts() != 2 || p.Lost() != 0 {
		t.Errorf("%d scripts, %d lost, want 2 and 0", p.Scripts(), p.Lost())
	}
	// Several commands in one piece, and values of every shape.
	fmt.Fprint(c, "*1\r\n$4\r\nPING\r\n*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n*1\r\n$4\r\nPING\r\n")
	if line, _ := c.in.ReadString('\n'); line != "+PONG\r\n" {
		t.Fatalf("%q, want +PONG", line)
	}
	for line := ""; line != "+PONG\r\n"; {
		var err error
		if line, err = c.in.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRefusedUntilPass(t *testing.T) {
	s, p := behind(t)
	c := dial(t, p.Addr())
	wantEval(t, c, ":1")
	p.Refuse()
	if _, err := c.eval(count, time.Second); err == nil {
		t.Error("a command on an old connection after Refuse: got an answer, want an error")
	}
	if c, err := net.Dial("tcp", p.Addr()); err == nil {
		_ = c.Close()
		t.Error("a connection after Refuse: got one, want an error")
	}
	if err := p.Pass(); err != nil {
		t.Fatal(err)
	}
	wantEval(t, dial(t, p.Addr()), ":2")
	wantCount(t, s, "2")
}

func TestHungUntilPass(t *testing.T) {
	s, p := behind(t)
	c := dial(t, p.Addr())
	p.Hang()
	if got, err := c.eval(count, 50*time.Millisecond); err == nil {
		t.Errorf("answered %q, want an error", got)
	}
	if err := p.Pass(); err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if line, err := c.in.ReadString('\n'); line != ":1\r\n" {
		t.Errorf("what was asked while it hung: %q, %v", line, err)
	}
	wantCount(t, s, "1")
}

func TestTakesWithLostRepliesAreCarriedOut(t *testing.T) {
	for how, name := range map[faulty.Loss]string{faulty.Closed: "closed", faulty.Swallowed: "swallowed", faulty.Torn: "torn"} {
		t.Run(name, func(t *testing.T) {
			s, p := behind(t)
			p.Lose(2, how)
			for range 2 {
				if got, err := dial(t, p.Addr()).eval(count, 100*time.Millisecond); err == nil {
					t.Errorf("answered %q, want an error", got)
				}
			}
			wantEval(t, dial(t, p.Addr()), ":3")
			wantCount(t, s, "3")
			if p.Lost() != 2 {
				t.Errorf("%d lost, want 2", p.Lost())
			}
		})
	}
}

func TestUnknownScriptIsNotAReplyToLose(t *testing.T) {
	_, p := behind(t)
	p.Lose(1, faulty.Closed)
	c := dial(t, p.Addr())
	fmt.Fprintf(c, "*3\r\n$7\r\nevalsha\r\n$40\r\n%s\r\n$1\r\n0\r\n", strings.Repeat("a", 40))
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if line, err := c.in.ReadString('\n'); !strings.HasPrefix(line, "-NOSCRIPT") {
		t.Fatalf("%q, %v, want \"-NOSCRIPT\" at the beginning", line, err)
	}
	if got, err := c.eval(count, time.Second); err == nil {
		t.Errorf("answered %q, want an error", got)
	}
}

func TestLaterRepliesAreLost(t *testing.T) {
	s, p := behind(t)
	p.LoseAfter(2, 1, faulty.Closed)
	c := dial(t, p.Addr())
	wantEval(t, c, ":1")
	wantEval(t, c, ":2")
	if got, err := c.eval(count, time.Second); err == nil {
		t.Errorf("answered %q, want an error", got)
	}
	wantEval(t, dial(t, p.Addr()), ":4")
	wantCount(t, s, "4")
}

func TestDelayedReply(t *testing.T) {
	_, p := behind(t)
	c := dial(t, p.Addr())
	p.Delay(80 * time.Millisecond)
	began := time.Now()
	wantEval(t, c, ":1")
	if d := time.Since(began); d < 80*time.Millisecond {
		t.Errorf("answered after %v", d)
	}
}

func TestLeadsToAnotherServer(t *testing.T) {
	s, p := behind(t)
	other := faulty.Redis(t)
	c := dial(t, p.Addr())
	wantEval(t, c, ":1")
	p.Lead(other.Addr())
	if got, err := c.eval(count, time.Second); err == nil {
		t.Errorf("answered %q, want an error", got)
	}
	wantEval(t, dial(t, p.Addr()), ":1")
	wantCount(t, s, "1")
	wantCount(t, other, "1")
}

func TestFlapsAndEndsPassing(t *testing.T) {
	_, p := behind(t)
	stop := p.Flap(30 * time.Millisecond)
	yes, no := 0, 0
	for end := time.Now().Add(10 * time.Second); (yes < 3 || no < 3) && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if c, err := net.Dial("tcp", p.Addr()); err != nil {
			no++
		} else {
			yes++
			_ = c.Close()
		}
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if yes < 3 || no < 3 {
		t.Errorf("connected %d times, refused %d times, want 3 of each or more", yes, no)
	}
	dial(t, p.Addr())
}

func TestScriptsAreHeldAtTheirMoments(t *testing.T) {
	s, p := behind(t)
	var mu sync.Mutex
	var seen []string
	p.Watch(func(m faulty.Moment) {
		n := s.Must("GET", "n")
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fmt.Sprintf("%d:%s", m, n))
	})
	wantEval(t, dial(t, p.Addr()), ":1")
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(seen, " "); got != "0: 1:1" {
		t.Errorf("asked and executed with n at %q, want \"0: 1:1\"", got)
	}
}

func TestServerComesBackAsItsDiskHasIt(t *testing.T) {
	for name, test := range map[string]struct {
		settings []string
		before   func(*faulty.Server)
		want     string
	}{
		"empty":              {nil, func(*faulty.Server) {}, ""},
		"with an older copy": {nil, func(s *faulty.Server) { s.Save(); s.Must("SET", "n", "2") }, "1"},
		"with all":           {[]string{"--appendonly", "yes"}, func(*faulty.Server) {}, "1"},
		"with nothing left":  {[]string{"--appendonly", "yes"}, func(s *faulty.Server) { s.Forget() }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := faulty.Redis(t, test.settings...)
			s.Must("SET", "n", "1")
			test.before(s)
			s.Kill()
			if _, err := s.Do("PING"); err == nil {
				t.Fatal("PING after Kill: got an answer, want an error")
			}
			s.Restart()
			if got := s.Must("GET", "n"); got != test.want {
				t.Errorf("n is %q, want %q", got, test.want)
			}
		})
	}
}

func TestFrozenServerAnswersOnceThawed(t *testing.T) {
	s := faulty.Redis(t)
	c := dial(t, s.Addr())
	s.Freeze()
	if got, err := c.eval(count, 50*time.Millisecond); err == nil {
		t.Errorf("answered %q, want an error", got)
	}
	s.Thaw()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if line, err := c.in.ReadString('\n'); line != ":1\r\n" {
		t.Errorf("what was asked meanwhile: %q, %v", line, err)
	}
}

func TestReplicaLagsAndSentinelPromotesIt(t *testing.T) {
	if testing.Short() {
		t.Skip("short: a failover takes seconds")
	}
	master, p := behind(t)
	host, port, _ := net.SplitHostPort(p.Addr())
	replica := faulty.Redis(t, "--replicaof", host+" "+port)
	replica.Await("master_link_status:up", "INFO", "replication")
	sentinel := faulty.Sentinel(t, "mymaster", p.Addr(), 300*time.Millisecond)
	sentinel.Await("name=mymaster,status=ok,address="+p.Addr()+",slaves=1", "INFO", "sentinel")
	master.Must("SET", "n", "1")
	replica.Await("1", "GET", "n")
	p.Lag(400 * time.Millisecond)
	began := time.Now()
	master.Must("SET", "n", "2")
	replica.Await("2", "GET", "n")
	if d := time.Since(began); d < 400*time.Millisecond {
		t.Errorf("the replica knew after %v", d)
	}
	master.Must("SET", "n", "3")
	p.Refuse()
	master.Kill()
	sentinel.Await(fmt.Sprint(replica.Port), "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster")
	replica.Await("role:master", "INFO", "replication")
	if got := replica.Must("GET", "n"); got != "2" {
		t.Errorf("the new master has %q: what was on its way when the old one died is lost, want \"2\"", got)
	}
}

func TestClosedProxyLeavesNothing(t *testing.T) {
	s := faulty.Redis(t)
	p, err := faulty.NewProxy(s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, p.Addr())
	p.Hang()
	p.Close()
	if err := p.Pass(); err != nil {
		t.Error(err)
	}
	_ = c.SetDeadline(time.Now().Add(time.Second))
	if _, err := c.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("%v, want %v or a reset", err, io.EOF)
	}
}
