/**
 * Header of the upgrade of a live socket, which our own client sends: how many bytes of the session it has
 * acknowledgements for, which is where its next audio begins. The interface itself transmits no position;
 * a service that does not know the header compares what is sent again with what it has, and silence equals
 * silence anywhere.
 */
export const acknowledgedBytesHeader = 'x-acknowledged-bytes';
