package pages

// valueNames names the filter values that the document does not name.
var valueNames = map[string]string{"24h": "Last 24 hours", "168h": "Last 7 days", "1000000": "1 million or more",
	"-3m": "Up to 3 min", "3m-20m": "3 to 20 min", "20m-": "20 min or longer"}
