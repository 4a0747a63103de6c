"""Reviews and CI results from elsewhere: a webhook receiver, and a poller for a JSON endpoint."""
