"""What a transcript's words show: functions of messages, calls and answers alone."""
