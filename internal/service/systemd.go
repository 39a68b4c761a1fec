package service

import (
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// What the service manager is told: https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html
const (
	ready    = daemon.SdNotifyReady
	stopping = daemon.SdNotifyStopping
)

// manager is the service manager, systemd or another that speaks its protocol. Without one nothing is sent, and a
// message that does not arrive is lost: there is nobody to report it to.
type manager struct {
	watchdog time.Duration // it restarts a service that has not fed it for so long; 0: never
}

func newManager() manager {
	every, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		every = 0 // the variables are not systemd's
	}
	return manager{watchdog: every}
}

// feed keeps the watchdog from firing. Only the scheduler's heartbeat may call it: a service that hangs has to be
// restarted.
func (m manager) feed() {
	if m.watchdog > 0 {
		m.send(daemon.SdNotifyWatchdog)
	}
}

func (manager) send(lines ...string) { _, _ = daemon.SdNotify(false, strings.Join(lines, "\n")) }
