"""The ConfigMap with the hostfile and discover_hosts.sh."""
