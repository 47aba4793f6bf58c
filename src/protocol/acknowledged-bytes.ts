/**
 * A header on the upgrade of a live socket, sent by our own client: the number of the session's bytes that it has
 * acknowledgements for, where its next audio begins. The original API transmits no position. A service that ignores
 * this header compares resent audio with its own, and silence equals silence anywhere.
 */
export const acknowledgedBytesHeader = 'x-acknowledged-bytes';
