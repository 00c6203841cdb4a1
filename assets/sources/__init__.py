"""Snapshots as they arrived: where each record lies. Payloads stay where they are."""
