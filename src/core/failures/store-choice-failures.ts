/** Causes of failed CSI calls in installations with several stores (ID-4). Part of the list in call-failures.ts. */
export const storeChoiceFailures = {
  storeNotListed: {
    events: ["VolumeFailedDelete"],
    texts: ["which is not a store of this installation any more"],
    cause:
      "the store of the volume is not listed in the values of the chart any more, so the driver does not know where the data is",
    fix: "Restore the chart value s3.stores for the store; or set the reclaim policy of the PersistentVolume to Retain and delete it, which keeps the data.",
  },
  volumeOfAnotherStore: {
    events: ["VolumeFailedDelete"],
    texts: ["is that of a volume on store"],
    cause: "the attributes of the PersistentVolume name another store than its volumeHandle",
    fix: "If this PersistentVolume was created by hand, set its reclaim policy to Retain and delete it.",
  },
  secretOfAnotherStore: {
    events: ["FailedMount", "ProvisioningFailed", "VolumeFailedDelete"],
    texts: [
      "store in the provisioner Secret",
      "endpoint_url in the provisioner Secret",
      "store in the Secret named by",
      "endpoint_url in the Secret named by",
    ],
    cause:
      "the Secret says that its credentials are for another store than that of the volume, or for one that is not listed",
    fix: "Correct store or endpoint_url in the Secret, or name a Secret for the right store. The credentials were not sent anywhere.",
  },
} as const;
