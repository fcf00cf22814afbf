# The transfer of sim/tcp-bulk for ns-2: NewReno, 100 Mbit/s, 10 ms, 100 packets, 100 s. Prints the
# packets that were acknowledged.
set ns [new Simulator]
set from [$ns node]
set to [$ns node]
$ns duplex-link $from $to 100Mb 10ms DropTail
$ns queue-limit $from $to 100
set tcp [new Agent/TCP/Newreno]
# No bound but the queue; 1500 bytes with the headers.
$tcp set window_ 10000
$tcp set packetSize_ 1460
set sink [new Agent/TCPSink/DelAck]
$ns attach-agent $from $tcp
$ns attach-agent $to $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at 0.0 "$ftp start"
$ns at 100.0 "puts \[$tcp set ack_\]; exit 0"
$ns run
