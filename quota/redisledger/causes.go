package redisledger

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/trendvidstream/ingest/internal/certificate"
)

type cause struct{ cause, cure string }

// causes maps the first word of an answer to its cause. The server did nothing in any of these cases.
var causes = map[string]cause{
	"MOVED":     cluster,
	"ASK":       cluster,
	"CROSSSLOT": cluster,
	"CLUSTERDOWN": {"the cluster is down: some of its slots have no master",
		"see redis-cli cluster info; it goes on by itself once all slots have a master"},
	"OOM": {"the server is out of memory", "raise maxmemory, or remove the data that fill it"},
	"READONLY": {"the server is a replica, which takes no writes",
		"name the master in the ledger's URL, or use redis+sentinel://"},
	"NOREPLICAS": {"the server has too few replicas to write", "start its replicas, or lower min-replicas-to-write"},
	"MASTERDOWN": {"the replica has lost its master", "name the master in the ledger's URL, or use redis+sentinel://"},
	"LOADING":    {"the server is loading its data", "wait: it answers when it has loaded them"},
	"MISCONF":    {"the server cannot save its data, and takes no writes", "free space on its disk, and see its log"},
	"BUSY":       {"the server is busy with another client's script", "redis-cli SCRIPT KILL ends it"},
	"NOAUTH":     password,
	"WRONGPASS":  password,
	"NOPERM":     rights,
}

var (
	cluster = cause{"the server is part of a cluster",
		"use redis+cluster:// instead of redis:// in the ledger's URL (rediss+cluster:// with TLS)"}
	password = cause{"user or password is refused", "check user and password in the ledger's URL"}
	rights   = cause{"the user lacks some rights",
		"give it all rights of the line ACL SETUSER in docs/hosts.md; ingest doctor names the missing ones"}
)

// causeOf returns the cause of an answer; the zero cause if it is not known. Some causes have no first word of their
// own and are known by their text.
func causeOf(word, text string) cause {
	if c, ok := causes[word]; ok {
		return c
	}
	switch {
	case strings.Contains(text, "unauthenticated"), strings.Contains(text, "AUTH <password> called without any password"):
		return password
	case strings.Contains(text, "The user executing the script"):
		return rights
	case strings.Contains(text, "ompiling script"):
		return cause{"the server is too old", "version 7 or newer is needed"}
	case strings.HasPrefix(text, "ERR DB index is out of range"):
		return cause{"the server does not have a database of that number", "use /0 in the ledger's URL"}
	case strings.HasPrefix(text, "ERR max number of clients"):
		return cause{"the server has too many connections", "raise maxclients, or close some"}
	case strings.HasPrefix(text, "ERR unknown command"):
		return cause{"the server has renamed or disabled a command that the ledger needs",
			"remove its rename-command lines for the commands that the line ACL SETUSER in docs/hosts.md lists"}
	}
	return cause{}
}

// silenceOf returns the cause of an error of the network; the zero cause if it is not known.
func silenceOf(err error, timeout time.Duration) cause {
	wrong, cure := certificate.Refused(err,
		"set SSL_CERT_FILE=FILE to the authority that signed it; the server's certificate must name the URL's host")
	switch slow := net.Error(nil); {
	case errors.As(err, new(tls.RecordHeaderError)):
		return cause{"the server does not speak TLS there", "use redis:// in the ledger's URL, or the port that speaks TLS"}
	case errors.Is(err, errTLS):
		return cause{"the server speaks TLS there", "use rediss:// in the ledger's URL"}
	case wrong != "":
		return cause{"the server's certificate " + wrong, cure}
	case errors.As(err, new(*net.DNSError)):
		return cause{"the server's host is not known", "check the host in the ledger's URL"}
	case errors.Is(err, syscall.ECONNREFUSED):
		return cause{"nothing listens at the server's address",
			"see that it runs (redis-cli -h HOST ping), and check host and port in the ledger's URL"}
	case errors.As(err, &slow) && slow.Timeout():
		return cause{fmt.Sprintf("the server does not answer within %v", timeout), "see that it runs and is not paused: " +
			"redis-cli -h HOST ping; if answers take longer, add ?timeout=2s to the ledger's URL"}
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return cause{"the server closed the connection",
			"see its log; if it speaks TLS there, use rediss:// in the ledger's URL"}
	}
	return cause{}
}
