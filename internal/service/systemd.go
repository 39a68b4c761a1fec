package service

import (
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// watchdog is the time after which the service manager, systemd or another that speaks its protocol, restarts a
// service that has not fed it; 0: never.
func watchdog() time.Duration {
	every, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return 0 // the variables are not systemd's
	}
	return every
}

// notify tells the service manager, where there is one: sd_notify(3). A message that does not arrive is lost: there is
// nobody to report it to.
func notify(lines ...string) { _, _ = daemon.SdNotify(false, strings.Join(lines, "\n")) }
