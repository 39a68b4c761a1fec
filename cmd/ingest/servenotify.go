package main

import (
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// What the service manager is told. https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html
const (
	ready    = daemon.SdNotifyReady
	stopping = daemon.SdNotifyStopping
)

// manager is the service manager, systemd or another that speaks its protocol; without one nothing is
// sent. What it does not hear is lost: there is nobody to tell.
type manager struct {
	watchdog time.Duration // it ends what does not feed it for so long; 0: it does not
}

func newManager() *manager {
	every, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		every = 0 // not systemd's own words
	}
	return &manager{watchdog: every}
}

// feed keeps the watchdog from firing. Only the scheduler's heart may call it: a service that hangs has
// to be started anew.
func (m *manager) feed() {
	if m.watchdog > 0 {
		m.send(daemon.SdNotifyWatchdog)
	}
}

func (m *manager) send(lines ...string) {
	_, _ = daemon.SdNotify(false, strings.Join(lines, "\n"))
}
