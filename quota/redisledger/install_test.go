package redisledger_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/redisledger"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// rights are the ACL rules of a ledger's user, as the package comment has them.
func rights(t *testing.T) []string {
	t.Helper()
	source, err := os.ReadFile("ledger.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(source), "ACL SETUSER ingest ")
	rules, _, end := strings.Cut(rest, "\npackage")
	if !found || !end {
		t.Fatal("the package comment: got no ACL line, want one")
	}
	return strings.Fields(strings.ReplaceAll(strings.ReplaceAll(rules, "//", ""), ">PASSWORD", ">pw"))
}

// docs/hosts.md gives a user the rights that the package comment names, which the other tests use.
func TestTheDocsGiveTheRightsThatAreNeeded(t *testing.T) {
	docs, err := os.ReadFile("../../docs/hosts.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(docs), "ACL SETUSER ingest ")
	rules, _, end := strings.Cut(rest, "\n\n")
	if got := strings.Fields(strings.ReplaceAll(rules, ">PASSWORD", ">pw")); !found || !end || !slices.Equal(got, rights(t)) {
		t.Errorf("docs/hosts.md: %v\nthe package: %v", got, rights(t))
	}
}

func aclUser(t *testing.T, s *server, user string, rules []string) {
	t.Helper()
	args := []any{"ACL", "SETUSER", user}
	for _, r := range rules {
		args = append(args, r)
	}
	if err := s.client.Do(t.Context(), args...).Err(); err != nil {
		t.Fatal(err)
	}
}

// exercise does all that a ledger does, by every way through the scripts.
func exercise(l *redisledger.Ledger, c *clock) error {
	ctx := context.Background()
	for range 2 {
		for i := range 130 {
			a := benchAsk("a", 1, 1000, "units", "search")
			a.Now, a.Midnights = time.Time{}, quota.Midnights(c.now, time.UTC)
			if i%2 == 0 {
				a.Precision = time.Second
			}
			d, err := l.Take(ctx, a)
			if err != nil {
				return err
			}
			if i%13 == 12 && a.Precision == 0 {
				if err := l.Refund(ctx, "a", d); err != nil {
					return err
				}
				if err := l.Post(ctx, a, c.now.Add(-time.Second)); err != nil {
					return err
				}
			}
			if i == 100 {
				c.set(c.now.Add(27 * time.Hour))
			}
		}
		c.set(c.now.Add(30 * time.Hour))
	}
	if err := l.Drain(ctx, "a", "units", quota.Drain{Until: c.now.Add(time.Hour), Used: 5}); err != nil {
		return err
	}
	if _, err := l.Spent(ctx, "a", c.now.Add(-time.Hour), 0); err != nil {
		return err
	}
	return exerciseRemote(ctx, l, c)
}

// exerciseRemote goes through a first start, syncs, a writer that is forgotten, and a loss.
func exerciseRemote(ctx context.Context, l *redisledger.Ledger, c *clock) error {
	renewal := sharedledger.Renewal{Account: "shared", Pools: []string{"units"}, Next: 1, First: true, Horizon: quota.MinHorizon}
	if _, err := l.Renew(ctx, renewal); err != nil {
		return err
	}
	for i := range 3 {
		a := benchAsk("shared", 1, 1000, "units")
		a.Now, a.Midnights = time.Time{}, quota.Midnights(c.now, time.UTC)
		if _, err := l.TakeOnce(ctx, a, sharedledger.Operation{Generation: 1, Writer: fmt.Sprint("own", i), Number: 1, Nonce: 1}); err != nil {
			return err
		}
		d := sharedledger.Batch{Account: "shared", Generation: 1, Horizon: quota.MinHorizon, Rows: rows("shared", fmt.Sprint("w", i), 20, c.now.Add(-time.Hour), time.Second)}
		if _, err := l.Sync(ctx, d); err != nil {
			return err
		}
		c.set(c.now.Add(27 * time.Hour))
	}
	long := sharedledger.Batch{Account: "shared", Generation: 1, Horizon: quota.MinHorizon, Rows: rows("shared", "long", 5000, c.now.Add(-time.Hour), time.Millisecond)}
	if _, err := l.Sync(ctx, long); err != nil {
		return err
	}
	if _, err := l.State(ctx, "shared", []string{"own2"}); err != nil {
		return err
	}
	c.s.client.LPop(ctx, "ingest:{shared}:units")
	renewal.Was, renewal.Next, renewal.First = 1, 2, false
	_, err := l.Renew(ctx, renewal)
	return err
}

func TestUserWithTheDocumentedRightsCanDoEverything(t *testing.T) {
	s := redisServer(t)
	all := rights(t)
	clocks := []string{"~clock", "+get"} // of the test's own clock
	_, c := moved(t, s)
	open := func(user string) *redisledger.Ledger {
		l, err := redisledger.OpenWithClock(fmt.Sprintf("redis://%s:pw@127.0.0.1:%d", user, s.port), redisledger.Options{Timeout: patient}, c.key)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	aclUser(t, s, "ingest", append(all, clocks...))
	if err := exercise(open("ingest"), c); err != nil {
		t.Fatal(err)
	}

	// None of them is superfluous, and the error says what to do.
	for i, rule := range all {
		command, ok := strings.CutPrefix(rule, "+")
		if !ok || command == "time" || command == "rpop" { // the test's clock; only to undo
			continue
		}
		t.Run("without "+command, func(t *testing.T) {
			s.client.Del(t.Context(), s.client.Keys(t.Context(), "ingest:*").Val()...)
			s.client.ScriptFlush(t.Context())
			user := "without-" + strings.ReplaceAll(command, "|", "-")
			aclUser(t, s, user, append(append(append([]string{}, all[:i]...), all[i+1:]...), clocks...))
			err := exercise(open(user), c)
			if !errors.Is(err, quota.ErrUnavailable) || !strings.Contains(err.Error(), "ACL SETUSER") {
				t.Errorf("%v, want error %v and \"ACL SETUSER\" in it", err, quota.ErrUnavailable)
			}
		})
	}
}

func TestAWrongPasswordIsReportedWithoutShowingIt(t *testing.T) {
	s := redisServer(t)
	if err := s.client.ConfigSet(t.Context(), "requirepass", "pw").Err(); err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{s.url(), strings.Replace(s.url(), "://", "://:tops3cret@", 1)} {
		_, err := openLedger(t, url, redisledger.Options{Timeout: patient}).Take(t.Context(), benchAsk("a", 1, 10, "units"))
		if !errors.Is(err, quota.ErrUnavailable) || !strings.Contains(err.Error(), "check user and password") {
			t.Errorf("%v, want error %v and \"check user and password\" in it", err, quota.ErrUnavailable)
		} else if strings.Contains(err.Error(), "tops3cret") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
	right := strings.Replace(s.url(), "://", "://:pw@", 1)
	wantAll(t, everything(t.Context(), openLedger(t, right, redisledger.Options{Timeout: patient}), "a"), nil, "")
}

// certificate writes a self-signed one for 127.0.0.1 and returns the files and a pool that trusts it.
func certificate(t *testing.T) (cert, key string, trust *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key, trust = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), x509.NewCertPool()
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "EC PRIVATE KEY", Bytes: bytes}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	trust.AddCert(parsed)
	return cert, key, trust
}

func TestTLS(t *testing.T) {
	cert, key, trust := certificate(t)
	port := faulty.FreePort(t)
	redisServer(t, "--tls-port", fmt.Sprint(port), "--tls-cert-file", cert, "--tls-key-file", key, "--tls-auth-clients", "no")
	url := fmt.Sprintf("rediss://127.0.0.1:%d", port)
	l := openLedger(t, url, redisledger.Options{Timeout: patient, TLS: &tls.Config{RootCAs: trust, MinVersion: tls.VersionTLS12}})
	if d := take(t, l, benchAsk("a", 1, 10, "units")); !d.Allowed {
		t.Errorf("%+v, want it admitted", d)
	}
	wantAll(t, everything(t.Context(), openLedger(t, url, redisledger.Options{Timeout: patient}), "a"), quota.ErrUnavailable, "certificate")
}

func TestCluster(t *testing.T) {
	s := redisServer(t, "--cluster-enabled", "yes")
	url := strings.Replace(s.url(), "redis:", "redis+cluster:", 1)
	down := openLedger(t, url, redisledger.Options{Timeout: patient})
	if _, err := down.Take(t.Context(), benchAsk("a", 1, 10, "units")); !errors.Is(err, quota.ErrUnavailable) {
		t.Errorf("a Cluster without slots: %v", err)
	}
	if err := s.client.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	await(t, func(ctx context.Context) error {
		if info := s.client.ClusterInfo(ctx).Val(); !strings.Contains(info, "cluster_state:ok") {
			return errors.New(info)
		}
		return nil
	})
	l := openLedger(t, url, redisledger.Options{Timeout: patient})
	for _, account := range []string{"a", "b", "c"} {
		wantAll(t, everything(t.Context(), l, account), nil, "")
	}
	if n := s.client.DBSize(t.Context()).Val(); n != 6 {
		t.Errorf("%d keys of three accounts, want 6", n)
	}
	// A user of its own needs two rights more here, as the package comment says.
	aclUser(t, s, "ingest", append(rights(t), "+cluster|slots", "+command"))
	wantAll(t, everything(t.Context(), openLedger(t, strings.Replace(url, "://", "://ingest:pw@", 1), redisledger.Options{Timeout: patient}), "d"), nil, "")
}

func TestSentinel(t *testing.T) {
	master := redisServer(t)
	port := faulty.FreePort(t)
	start(t, "redis-sentinel", port, fmt.Sprintf("sentinel monitor mymaster 127.0.0.1 %d 1", master.port))
	sentinel := redis.NewSentinelClient(&redis.Options{Addr: fmt.Sprintf("127.0.0.1:%d", port), DisableIdentity: true})
	defer func() { _ = sentinel.Close() }()
	await(t, func(ctx context.Context) error { return sentinel.GetMasterAddrByName(ctx, "mymaster").Err() })

	url := fmt.Sprintf("redis+sentinel://127.0.0.1:%d?master_name=", port)
	wantAll(t, everything(t.Context(), openLedger(t, url+"mymaster", redisledger.Options{Timeout: patient}), "a"), nil, "")
	wantAll(t, everything(t.Context(), openLedger(t, url+"other", redisledger.Options{}), "a"), quota.ErrUnavailable, "")
	if n := master.client.DBSize(t.Context()).Val(); n != 2 {
		t.Errorf("the master has %d keys, want 2", n)
	}
}
