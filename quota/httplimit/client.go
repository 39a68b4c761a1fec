package httplimit

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// Token names the client that sends "Authorization: Bearer TOKEN". Only the token's hash is kept.
type Token struct {
	Client string // the owner: it may have several tokens, and keeps its account when one is replaced
	SHA256 [sha256.Size]byte
	Plan   string // one of Config.Plans; "" is Config.Limits
	Caller bool   // may ask for other clients, like Config.Callers
}

// HashToken returns the Token.SHA256 of a token. The hash has no salt, so a token must be random: 128 bits or more.
func HashToken(token string) [sha256.Size]byte { return sha256.Sum256([]byte(token)) }

// client is who sent a request.
type client struct {
	account string
	plan    *plan
}

// maxClientName leaves room for the prefix in an account of 64 characters.
const maxClientName = 40

func (l *Limiter) checkTokens() error {
	for _, t := range l.Tokens {
		if len(t.Client) > maxClientName || quota.CheckAccount(t.Client) != nil {
			return fmt.Errorf("httplimit: client %q: use 1 to %d letters, digits, '.', '-' and '_'", t.Client, maxClientName)
		}
		if _, ok := l.plans[t.Plan]; !ok && t.Plan != "" {
			return fmt.Errorf("httplimit: client %s: there is no plan %q", t.Client, t.Plan)
		}
	}
	return nil
}

// clients returns who is charged for r. For an unknown token it is the address, and authorized is false.
func (l *Limiter) clients(r *http.Request, addr netip.Addr) (all []client, authorized bool) {
	authorized = true
	if len(l.Tokens) > 0 {
		if token, ok := bearer(r.Header.Get("Authorization")); ok {
			if t := l.token(token); t != nil {
				return l.under(addr, l.named(t.Client, t.Plan)), true
			}
			authorized = false
		}
	}
	return []client{{l.account(addr), l.anonymous.atAddress}}, authorized
}

// under adds the address that the clients use, if addresses have limits, and it is none of the clients itself.
func (l *Limiter) under(addr netip.Addr, clients ...client) []client {
	if len(l.Addresses) == 0 {
		return clients
	}
	at := client{l.account(addr), l.capped}
	if slices.ContainsFunc(clients, func(c client) bool { return c.account == at.account }) {
		return clients
	}
	return append(clients, at)
}

// bearer returns the token in a field such as Authorization.
func bearer(field string) (token string, ok bool) {
	scheme, token, ok := strings.Cut(field, " ")
	return strings.TrimSpace(token), ok && strings.EqualFold(scheme, "Bearer")
}

// named returns the client of a name, under a plan; "" is the client without a token.
func (l *Limiter) named(name, plan string) client {
	account := l.Prefix + ".key-" + name
	if len(name) > maxClientName || quota.CheckAccount(name) != nil { // such as an e-mail address
		sum := sha256.Sum256([]byte(name))
		account = l.Prefix + ".id-" + hex.EncodeToString(sum[:16])
	}
	if plan == "" {
		return client{account, l.anonymous}
	}
	return client{account, l.plans[plan]}
}

// token finds a token. It compares all of them, so that the time taken does not reveal how much of a hash was right.
func (l *Limiter) token(given string) (found *Token) {
	hash := HashToken(given)
	for i := range l.Tokens {
		if subtle.ConstantTimeCompare(hash[:], l.Tokens[i].SHA256[:]) == 1 {
			found = &l.Tokens[i]
		}
	}
	return found
}

// account returns the account of an IPv4 address or of an IPv6 /64, since one household has that many addresses.
// Beyond MaxClients, new clients share accounts.
func (l *Limiter) account(addr netip.Addr) string {
	if !addr.IsValid() {
		return l.Prefix + ".ip-none"
	}
	all := addr.As16()
	part := all[:8]
	if addr.Is4() {
		part = all[12:]
	}
	if share, ok := l.known.shares(part, l.Now()); ok {
		l.count(&l.stats.Shared)
		return l.Prefix + ".shared-" + strconv.Itoa(share)
	}
	var text [32]byte
	b := append(append(text[:0], l.Prefix...), ".ip-"...)
	return string(hex.AppendEncode(b, part))
}

// sharedAccounts is how many accounts the clients beyond MaxClients share.
const sharedAccounts = 1024

// knownClients remembers which clients have an account, for as long as the longest window.
type knownClients struct {
	most    int
	horizon time.Duration // they are remembered for at least so long
	seed    maphash.Seed

	mu            sync.Mutex
	began         time.Time
	current, last map[uint64]struct{} // seen since began, and seen only in the span before
}

// shares reports whether a client must share an account, and which. The seed is secret, so that no client can choose
// whom to share with.
func (k *knownClients) shares(part []byte, now time.Time) (int, bool) {
	id := maphash.Bytes(k.seed, part)
	k.mu.Lock()
	defer k.mu.Unlock()
	if now.Sub(k.began) >= k.horizon {
		k.last, k.current = k.current, make(map[uint64]struct{}, len(k.current)/2)
		if now.Sub(k.began) >= 2*k.horizon {
			k.last = nil
		}
		k.began = now
	}
	if _, ok := k.current[id]; ok {
		return 0, false
	}
	if _, ok := k.last[id]; ok {
		delete(k.last, id)
	} else if len(k.current)+len(k.last) >= k.most {
		return int(id % sharedAccounts), true
	}
	k.current[id] = struct{}{}
	return 0, false
}
